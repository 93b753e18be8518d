// Finds text for people outside of the catalogs, src/messages.ts and src/messages/: in elements, and in attributes that are read or shown.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const SHOWN = new Set(["aria-label", "alt", "title", "placeholder", "label"]);
const COMPARISONS = new Set([ts.SyntaxKind.EqualsEqualsEqualsToken, ts.SyntaxKind.ExclamationEqualsEqualsToken]);
const LETTERS = /\p{L}{2,}/u;

export function textsIn(name, source) {
  const found = [];
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const report = (node, text) => {
    if (!LETTERS.test(text)) return;
    found.push(`${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${text.trim()}`);
  };
  const isText = (node) => node && (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node));
  const visit = (node) => {
    if (ts.isJsxText(node)) report(node, node.text);
    else if (ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent)) texts(node.expression);
    else if (ts.isJsxAttribute(node) && SHOWN.has(node.name.getText()) && node.initializer) {
      if (isText(node.initializer)) report(node, node.initializer.text);
      else texts(node.initializer.expression);
    }
    ts.forEachChild(node, visit);
  };
  // What an expression may become: both sides of a choice, and what is joined.
  const texts = (node) => {
    if (!node) return;
    if (isText(node)) report(node, node.text);
    else if (ts.isTemplateExpression(node)) [node.head, ...node.templateSpans.map((one) => one.literal)].forEach((one) => report(one, one.text));
    else if (ts.isConditionalExpression(node)) [node.whenTrue, node.whenFalse].forEach(texts);
    else if (ts.isBinaryExpression(node) && !COMPARISONS.has(node.operatorToken.kind)) [node.left, node.right].forEach(texts);
    else if (ts.isParenthesizedExpression(node)) texts(node.expression);
  };
  visit(file);
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = fileURLToPath(new URL("src", import.meta.url));
  const names = process.argv[2] ? [process.argv[2]] : (await readdir(folder, { recursive: true })).filter((one) => /\.tsx?$/.test(one) && one !== "messages.ts");
  const found = (await Promise.all(names.map(async (one) => textsIn(one, await readFile(join(folder, one), "utf8"))))).flat();
  for (const one of found) console.log(one);
  process.exitCode = found.length > 0 ? 1 : 0;
}
