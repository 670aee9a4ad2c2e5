// dist/report.html: the page with script and style in itself, to be opened from a file. The program puts the run where
// `{"aplomb":"data"}` stands (JSON in which <, > and & are written \u003c, \u003e, \u0026).
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const dist = new URL("../dist/", import.meta.url);
const read = (/** @type {string} */ name) => readFileSync(new URL(name, dist), "utf8");
// An end tag inside of a string would end the element; `<\/script` is the same string.
const script = read("app.js").replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const style = read("app.css");
if (style.includes("</style")) throw new Error("the style holds an end tag");
const hash = (/** @type {string} */ text) =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;

writeFileSync(
  new URL("report.html", dist),
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>aplomb</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript to draw the run that it holds; it loads nothing and sends nothing.</noscript>
<script type="application/json" id="aplomb-data">{"aplomb":"data"}</script>
<script type="module">${script}</script>
</body>
</html>
`,
);
