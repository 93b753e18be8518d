// Builds the page into wifimgrd/http/page/built: five documents, and assets with a hash in each name.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = join(here, "../wifimgrd/http/page/built");

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
const options = {
  absWorkingDir: here,
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
};
// Documents that are built together share their code in files of its own, and each such file costs a request and
// time before the first picture: the hub's page, which has to be quick, shares with none.
const TOGETHER = [
  { page: "src/main.tsx", style: "src/style.css", icon: "src/icon.svg" },
  { gallery: "src/gallery.tsx" },
  { docs: "src/docs.tsx", missing: "src/missing.tsx", fleet: "src/fleet/main.tsx" },
];
// These run before anything is drawn, and so are no modules, which wait for the document.
const BEFORE = { first: "src/first.ts", themed: "src/themed.ts" };
const built = await Promise.all([
  ...TOGETHER.map((entryPoints) => build({ ...options, entryPoints })),
  build({ ...options, entryPoints: BEFORE, format: "iife", splitting: false }),
]);
const outputs = Object.assign({}, ...built.map((one) => one.metafile.outputs));

const assets = {};
for (const [file, output] of Object.entries(outputs)) {
  const entry = output.entryPoint ?? Object.keys(output.inputs)[0];
  if (entry && !file.endsWith(".txt")) assets[entry + (file.endsWith(".css") ? " css" : "")] ??= basename(file);
}
/** The files that a script needs before it runs: the browser would learn of them one after the other. */
function neededBy(script) {
  const [start] = Object.entries(outputs).find(([, output]) => output.entryPoint === script);
  const found = new Set([start]);
  for (const file of found) {
    for (const { path, kind } of outputs[file].imports) if (kind === "import-statement") found.add(path);
  }
  found.delete(start);
  return [...found].map((file) => basename(file));
}
// The npm packages that the page is made of, and those within the one file as which a package comes.
const within = JSON.parse(await readFile(join(here, "bundled_within.json"), "utf8"));
const inputs = new Set(Object.values(outputs).flatMap((output) => Object.keys(output.inputs)));
const packageOf = (file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
const bundled = [...new Set([...inputs].map(packageOf).filter((name) => name))].sort();
const parts = bundled.flatMap((name) => [name, ...(within[name] ?? [])]);
// For the list of the contents of the package (packaging/make_content_lists); it is not installed.
await writeFile(join(target, ".metafile.json"), JSON.stringify({ outputs }));
const licenseOf = async (name) => {
  const folder = join(here, "node_modules", name);
  const file = (await readdir(folder)).find((one) => /^license/i.test(one));
  if (!file) throw new Error(`${name} has no license`);
  return [name, join(folder, file)];
};
const licenses = [["wifimgrd", join(here, "../LICENSE")], ...(await Promise.all(parts.map(licenseOf)))];
const texts = await Promise.all(licenses.map(async ([name, file]) => `${name}\n\n${await readFile(file, "utf8")}`));
const text = texts.join(`\n${"-".repeat(80)}\n\n`);
assets.licenses = `notices-${createHash("sha256").update(text).digest("hex").slice(0, 8).toUpperCase()}.txt`;
await writeFile(join(target, "assets", assets.licenses), text);

// What a phone needs to have the page among its applications; its addresses are relative to its own.
const manifest = JSON.stringify({
  name: "Camera hub",
  short_name: "Cameras",
  start_url: "../",
  scope: "../",
  display: "standalone",
  background_color: "#f6f7f8",
  theme_color: "#0b6e6e",
  icons: [{ src: assets["src/icon.svg"], sizes: "any", type: "image/svg+xml" }],
});
assets.manifest = `manifest-${createHash("sha256").update(manifest).digest("hex").slice(0, 8).toUpperCase()}.webmanifest`;
await writeFile(join(target, "assets", assets.manifest), manifest);

const documents = {
  "index.html": {
    title: "Camera hub",
    first: "src/first.ts", // which begins `script`
    script: "src/main.tsx",
    outline: "<header class=\"top\"><div class=\"frame\"><h1>Camera hub</h1></div></header>", // drawn before any script has run
  },
  "docs.html": { title: "Camera hub API", script: "src/docs.tsx" },
  "style.html": { title: "Parts of the page", script: "src/gallery.tsx" },
  "missing.html": { title: "Not found", script: "src/missing.tsx" },
  "fleet.html": { title: "All hubs", script: "src/fleet/main.tsx", template: "src/fleet/document.html" },
};
for (const [name, parts] of Object.entries(documents)) {
  const template = await readFile(join(here, parts.template ?? "src/document.html"), "utf8");
  const scripts = [
    parts.first ? `<link rel="modulepreload" data-page href="asset:${parts.script}">` : `<script type="module" src="asset:${parts.script}"></script>`,
    `<script src="asset:${parts.first ?? "src/themed.ts"}"></script>`,
    ...neededBy(parts.script).map((file) => `<link rel="modulepreload" href="{root}assets/${file}">`),
  ];
  const made = { outline: "", ...parts, scripts: scripts.join("\n    ") };
  const page = template.replace(/build:(\w+)/g, (_, part) => made[part]);
  const linked = page.replace(/asset:([\w./]+)/g, (_, source) => {
    const found = assets[source] ?? assets[`${source} css`];
    if (!found) throw new Error(`${name} wants ${source}, which was not built`);
    return `{root}assets/${found}`;
  });
  await writeFile(join(target, name), linked);
}
