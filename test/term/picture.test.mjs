// The picture of README: `agentctl demo` as a terminal shows it, drawn as SVG and compared with docs/pictures/demo.svg.
//   AR_SCREENS=write node --test test/term/picture.test.mjs     draws it anew; look at it before it is committed
// ci: release only
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { bin, Place } from "../ctl/place.mjs";
import { Vterm } from "./vterm.mjs";

const file = fileURLToPath(new URL("../../docs/pictures/demo.svg", import.meta.url));
const COLS = 84, CELL = 8.4, LINE = 19, MARGIN = 16, BAR = 30;
const COLOURS = { r: "#f47067", g: "#57ab5a", y: "#c69026", b: "#539bf5", m: "#b083f0", c: "#39c5cf", k: "#768390", d: "#768390", w: "#cdd9e5" };
let place;
before(async () => { place = await Place.make({ withModel: false }); });
after(() => place.end());

/** Times are the machine's. */
const still = (line) => line.replace(/\d+\.\d s/g, "0.1 s").replace(/\(\d+ s ·/, "(2 s ·").replace(/\d+ h left/, "23 h left");

const escape = (text) => text.replace(/ /g, "\u00a0").replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

/** The pieces of a row that have one style, each at its column. */
function runs(text, styles) {
	const letters = [...text], found = [];
	letters.forEach((letter, column) => {
		const style = styles[column] ?? " ";
		if (found.at(-1)?.style === style) found.at(-1).text += letter;
		else found.push({ column, style, text: letter });
	});
	return found.filter(({ text }) => text.trim()).map(({ column, style, text }) => ({ column: column + text.length - text.trimStart().length, style, text: text.trim() }));
}

function row({ text, styles }, index) {
	const y = BAR + MARGIN + LINE * (index + 0.7);
	return runs(text, styles).map(({ column, style, text }) => {
		const colour = COLOURS[style.toLowerCase()], bold = style !== style.toLowerCase() ? ' font-weight="bold"' : "";
		return `<text x="${(MARGIN + column * CELL).toFixed(1)}" y="${y.toFixed(1)}" textLength="${([...text].length * CELL).toFixed(1)}"${colour ? ` fill="${colour}"` : ""}${bold}>${escape(text)}</text>`;
	}).join("\n");
}

function svg(rows) {
	const width = MARGIN * 2 + COLS * CELL, height = BAR + MARGIN * 2 + rows.length * LINE;
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width.toFixed(0)} ${height}" width="${width.toFixed(0)}" height="${height}" role="img" aria-label="agentctl demo in a terminal">
<rect width="100%" height="100%" rx="8" fill="#22272e"/>
<circle cx="20" cy="${BAR / 2 + 3}" r="5" fill="#768390"/><circle cx="38" cy="${BAR / 2 + 3}" r="5" fill="#768390"/><circle cx="56" cy="${BAR / 2 + 3}" r="5" fill="#768390"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" fill="#cdd9e5">
${rows.map(row).filter(Boolean).join("\n")}
</g>
</svg>
`;
}

test("docs/pictures/demo.svg is what agentctl demo shows", async () => {
	const t = new Vterm({ env: place.env, cwd: place.work, cols: COLS, rows: 50 }, join(bin, "agentctl"), "demo");
	try {
		await t.until(/Ctrl-D leaves/);
		t.type("Make the test pass.");
		t.key("Enter");
		await t.until(/why am I asked/, { all: true });
		const { text, styles } = await t.steady(true);
		const lines = text.trimEnd().split("\n"), marks = styles.split("\n");
		const first = lines.findIndex((line) => line.startsWith("› Make the test pass."));
		const rows = lines.slice(first).map((line, i) => ({ text: still(line), styles: marks[first + i] ?? "" }));
		const drawn = svg(rows);
		if (process.env.AR_SCREENS === "write") writeFileSync(file, drawn);
		assert.equal(drawn, readFileSync(file, "utf8"), `${file} differs`);
	} finally {
		await t.end();
	}
});
