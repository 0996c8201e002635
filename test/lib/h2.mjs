// Readers whose stream of server-sent events is a stream of HTTP/2, in the clear and known beforehand.
import http2 from 'node:http2';

/** The same reader, whatever it reads; `rt` gives the `url`. A connection carries its one stream. */
export const overH2 = (Reader) =>
	class extends Reader {
		open() {
			return new Promise((done, fail) => {
				const session = (this.session = http2.connect(this.rt.url));
				session.on('error', fail).on('close', () => {
					if (session === this.session) this.closed();
					fail(new Error('closed'));
				});
				const { path, headers } = this.where();
				const stream = session.request({ ':path': path, ...headers });
				let rest = '';
				stream.setEncoding('utf8');
				stream.on('response', (head) => {
					if (head[':status'] !== 200) return fail(new Error(`status ${head[':status']}`));
					this.isOpen = true;
					this.connections++;
					done(this);
				});
				stream.on('data', (text) => session === this.session && (rest = this.take(rest + text)));
				stream.on('error', () => {}).on('close', () => session.destroy());
			});
		}

		cut() {
			this.session?.destroy();
		}
	};
