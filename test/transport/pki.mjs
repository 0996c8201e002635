// Certificates for tests: a folder with a small authority, made by openssl.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { onEnd } from "./probe.mjs";

const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

export class Pki {
	// In a folder of its own that goes with the test, or in `dir`, which is the caller's. `before`: words before the command, such as those of a clock.
	constructor(dir, before = []) {
		this.before = before;
		this.dir = dir ?? fs.mkdtempSync(path.join(os.tmpdir(), "pki-"));
		if (!dir) onEnd(() => fs.rmSync(this.dir, { recursive: true, force: true }));
	}
	openssl(...args) {
		const [program, ...rest] = [...this.before, "openssl", ...args];
		execFileSync(program, rest, { stdio: ["ignore", "pipe", "pipe"] });
	}
	at(name) { return path.join(this.dir, name); }
	read(name) { return fs.readFileSync(this.at(name)); }
	// An authority, or a certificate that signs itself: NAME.pem and NAME.key.
	root(name, { subject = `/CN=${name}`, names = "DNS:localhost,IP:127.0.0.1" } = {}) {
		this.openssl("req", "-x509", ...curve, "-keyout", this.at(`${name}.key`), "-out", this.at(`${name}.pem`), "-days", "2",
			"-subj", subject, "-addext", `subjectAltName=${names}`);
		return this;
	}
	issue(name, by, { subject = `/CN=${name}`, names = "DNS:localhost,IP:127.0.0.1" } = {}) {
		this.openssl("req", ...curve, "-keyout", this.at(`${name}.key`), "-out", this.at(`${name}.csr`), "-subj", subject);
		fs.writeFileSync(this.at("ext"), `subjectAltName=${names}\n`);
		this.openssl("x509", "-req", "-in", this.at(`${name}.csr`), "-CA", this.at(`${by}.pem`), "-CAkey", this.at(`${by}.key`), "-days", "2",
			"-extfile", this.at("ext"), "-out", this.at(`${name}.pem`));
		return this;
	}
	// Puts the certificate and key of `name` where the server looks; the key first, as a careful operator does not.
	deploy(name, as = "server") {
		for (const kind of ["key", "pem"]) {
			fs.copyFileSync(this.at(`${name}.${kind}`), this.at(`${as}.${kind}.new`));
			fs.renameSync(this.at(`${as}.${kind}.new`), this.at(`${as}.${kind}`));
		}
		return this;
	}
	// Of a node: its certificate and key, and the authority of the nodes.
	clusterFlags(as, ca = "ca") {
		return ["--cluster-certificate", this.at(`${as}.pem`), "--cluster-key", this.at(`${as}.key`), "--cluster-ca", this.at(`${ca}.pem`)];
	}
	clusterSettings(as, ca = "ca") {
		return { "cluster.tls_certificate": this.at(`${as}.pem`), "cluster.tls_key": this.at(`${as}.key`), "cluster.tls_ca": this.at(`${ca}.pem`) };
	}
	flags(as = "server") { return ["--certificate", this.at(`${as}.pem`), "--certificate-key", this.at(`${as}.key`)]; }
}
