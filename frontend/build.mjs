// Builds the page into wifimgrd/http/page/built: two documents, and assets with a hash in each name.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = join(here, "../wifimgrd/http/page/built");

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
const built = await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.tsx", docs: "src/docs.tsx", style: "src/style.css", icon: "src/icon.svg" },
  outdir: join(target, "assets"),
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2020", "safari15.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".svg": "copy", ".png": "file" },
  minify: true,
  metafile: true,
  legalComments: "linked",
  logLevel: "warning",
});

const assets = {};
for (const [file, output] of Object.entries(built.metafile.outputs)) {
  const entry = output.entryPoint ?? Object.keys(output.inputs)[0];
  if (entry && !file.endsWith(".txt")) assets[entry + (file.endsWith(".css") ? " css" : "")] ??= basename(file);
}
// The licenses of what the page is made of, as one text.
const PARTS = ["preact", "@preact/signals", "@preact/signals-core", "leaflet"];
const licenses = [["wifimgrd", join(here, "../LICENSE")], ...PARTS.map((name) => [name, join(here, "node_modules", name, "LICENSE")])];
const texts = await Promise.all(licenses.map(async ([name, file]) => `${name}\n\n${await readFile(file, "utf8")}`));
const text = texts.join(`\n${"-".repeat(80)}\n\n`);
assets.licenses = `notices-${createHash("sha256").update(text).digest("hex").slice(0, 8).toUpperCase()}.txt`;
await writeFile(join(target, "assets", assets.licenses), text);

const documents = {
  "index.html": { title: "Camera hub", script: "src/main.tsx" },
  "docs.html": { title: "API of the camera hub", script: "src/docs.tsx" },
};
const template = await readFile(join(here, "src/document.html"), "utf8");
for (const [name, parts] of Object.entries(documents)) {
  const page = template.replace(/build:(\w+)/g, (_, part) => parts[part]);
  const linked = page.replace(/asset:([\w./]+)/g, (_, source) => {
    const found = assets[source] ?? assets[`${source} css`];
    if (!found) throw new Error(`${name} wants ${source}, which was not built`);
    return `{root}assets/${found}`;
  });
  await writeFile(join(target, name), linked);
}
