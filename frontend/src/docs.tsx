// The API for people: /openapi.json as a page, without anything from elsewhere.

import { render } from "preact";
import { Problem, request } from "./api";
import { docsWords } from "./messages/docs";

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  items?: Schema;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
}

interface Content {
  content?: Record<string, { schema?: Schema; example?: unknown }>;
}

interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: { name: string; in: string; required: boolean; description: string; schema: Schema; example: unknown }[];
  requestBody?: Content;
  security?: unknown[];
  responses: Record<string, Content & { description: string }>;
}

interface Document {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  security?: unknown[];
  components: { schemas: Record<string, Schema> };
}

/** What a person does not call: pages, and what they are made of. */
const OF_PAGES = "page";

/** An address of many: `P/wifi/status` stands for a long one, as in the documents. */
const LIST = "list_devices";

interface Line {
  operation: Operation;
  methods: string[];
  path: string;
}

/** The operations of a tag, those with one name and address as one line. */
function linesOf(tag: string, all: readonly { path: string; method: string; operation: Operation }[]): Line[] {
  const lines = new Map<string, Line>();
  for (const { path, method, operation } of all.filter((one) => one.operation.tags.includes(tag))) {
    const key = `${operation.summary} ${path}`;
    const line = lines.get(key) ?? { operation, methods: [], path };
    line.methods.push(method);
    lines.set(key, line);
  }
  return [...lines.values()];
}

function Docs({ api }: { api: Document }) {
  const all = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const prefix = all.find(({ operation }) => operation.operationId === LIST)?.path.replace(/\/$/, "") ?? "";
  const short = (path: string) => (prefix !== "" && path.startsWith(prefix) ? `P${path.slice(prefix.length)}` : path);
  return (
    <>
      <header>
        <h1>{docsWords.title}</h1>
        <nav aria-label={docsWords.parts}>
          {api.tags.map((tag) => (
            <a key={tag.name} href={`#${tag.name}`}>
              {tag.name}
            </a>
          ))}
          <a href="#schemas">{docsWords.values}</a>
        </nav>
      </header>
      <main id="content" class="docs">
        <p>
          {docsWords.version(api.info.version)} <Text text={api.info.description} /> {docsWords.forPrograms} <a href="openapi.json">{docsWords.openapi}</a>,{" "}
          <a href="asyncapi.json">{docsWords.asyncapi}</a>. <a href="docs/">{docsWords.documents}</a>.{" "}
          <a href="./">{docsWords.back}</a>
        </p>
        <nav class="index" aria-label={docsWords.index}>
          {prefix !== "" && (
            <p>
              <code>P</code> {docsWords.prefix} <code>{prefix}</code>
            </p>
          )}
          <table>
            <thead class="visually-hidden">
              <tr>
                <th scope="col">{docsWords.what}</th>
                <th scope="col">{docsWords.where}</th>
              </tr>
            </thead>
            {api.tags.filter(({ name }) => name !== OF_PAGES).map((tag) => (
              <tbody key={tag.name}>
                <tr>
                  <th scope="rowgroup" colSpan={2}>
                    {tag.description}
                  </th>
                </tr>
                {linesOf(tag.name, all).map(({ operation, methods, path }) => (
                  <tr key={operation.operationId}>
                    <td>
                      <a href={`#${operation.operationId}`}>{operation.summary}</a>
                    </td>
                    <td>
                      <code>{`${methods.join(" ")} ${short(path)}`}</code>
                    </td>
                  </tr>
                ))}
              </tbody>
            ))}
          </table>
        </nav>
        {api.tags.map((tag) => (
          <section key={tag.name} id={tag.name}>
            <h2>{tag.description}</h2>
            {all
              .filter(({ operation }) => operation.tags.includes(tag.name))
              .map(({ path, method, operation }) => (
                <OperationPart key={operation.operationId} {...{ api, path, method, operation }} />
              ))}
          </section>
        ))}
        <section id="schemas">
          <h2>{docsWords.values}</h2>
          {Object.entries(api.components.schemas).map(([name, schema]) => (
            <article key={name} id={`schema-${name}`}>
              <h3>{name}</h3>
              {schema.description && <Text text={schema.description} />}
              <Members schema={schema} />
            </article>
          ))}
        </section>
      </main>
    </>
  );
}

interface OperationProps {
  api: Document;
  path: string;
  method: string;
  operation: Operation;
}

function OperationPart({ api, path, method, operation }: OperationProps) {
  const answer = Object.entries(operation.responses).find(([status]) => status.startsWith("2"))?.[1];
  const example = answer && exampleIn(answer);
  return (
    <article id={operation.operationId}>
      <h3>
        {operation.summary} <code class="address">{`${method} ${path}`}</code>
      </h3>
      {operation.description && <Text text={operation.description} />}
      {operation.parameters && (
        <dl>
          {operation.parameters.map((one) => (
            <div key={one.name}>
              <dt>
                <code>{one.name}</code> <small>{[one.in, one.required ? docsWords.required : "", kindOf(one.schema)].filter(Boolean).join(", ")}</small>
              </dt>
              <dd>
                <Text text={one.description} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {operation.requestBody && (
        <p>
          {docsWords.body} <Kind schema={schemaOf(operation.requestBody)} />
        </p>
      )}
      <h4>{docsWords.example}</h4>
      <pre class="curl">{curlOf(api, path, method, operation)}</pre>
      {example !== undefined && <pre class="answer">{shown(example)}</pre>}
      <dl>
        {Object.entries(operation.responses).map(([status, response]) => (
          <div key={status}>
            <dt>{status}</dt>
            <dd>
              {status.startsWith("2") ? <Kind schema={schemaOf(response)} /> : <Text text={response.description} />}
              {status.startsWith("2") && !schemaOf(response) && <Text text={response.description} />}
            </dd>
          </div>
        ))}
      </dl>
    </article>
  );
}

const quoted = (text: string) => `'${text.replace(/'/g, "'\\''")}'`;

/** A line for a shell, with what is required. */
function curlOf(api: Document, path: string, method: string, operation: Operation): string {
  const given = operation.parameters ?? [];
  let address = path;
  for (const one of given.filter(({ in: place }) => place === "path")) {
    address = address.replace(`{${one.name}}`, encodeURIComponent(String(one.example)));
  }
  const query = given
    .filter((one) => one.in === "query" && one.required)
    .map((one) => `${one.name}=${encodeURIComponent(String(one.example))}`);
  const url = new URL("./", document.baseURI).href.replace(/\/$/, "") + address + (query.length > 0 ? `?${query.join("&")}` : "");
  const body = operation.requestBody && exampleIn(operation.requestBody);
  const verb = method === "GET" || (method === "POST" && body) ? "" : ` -X ${method}`;
  const token = (operation.security ?? api.security ?? []).length > 0 ? ' -H "Authorization: Bearer $TOKEN"' : "";
  return `curl -s${verb}${token} ${quoted(url)}${body ? ` -d ${quoted(JSON.stringify(body))}` : ""}`;
}

/** The example in a body; undefined where it is no text, e.g. a picture. */
const exampleIn = (part: Content): unknown => Object.values(part.content ?? {})[0]?.example;

const shown = (example: unknown): string => (typeof example === "string" ? example : JSON.stringify(example, null, 1));

function Members({ schema }: { schema: Schema }) {
  return (
    <dl>
      {Object.entries(schema.properties ?? {}).map(([name, member]) => (
        <div key={name}>
          <dt>
            <code>{name}</code> <small>{schema.required?.includes(name) ? "" : docsWords.optional}</small>
          </dt>
          <dd>
            <Kind schema={member} /> {member.description && <Text text={member.description} />}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const schemaOf = (part: Content): Schema | undefined => Object.values(part.content ?? {})[0]?.schema;

function kindOf(schema: Schema | undefined): string {
  if (!schema) return "";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map(kindOf).join(" | ");
  if (schema.$ref) return schema.$ref.split("/").pop() ?? "";
  return [schema.type ?? "anything"].flat().join(" | ");
}

function Kind({ schema }: { schema: Schema | undefined }) {
  if (!schema) return null;
  if (schema.$ref) {
    const name = kindOf(schema);
    return <a href={`#schema-${name}`}>{name}</a>;
  }
  if (schema.anyOf) {
    return (
      <>
        {schema.anyOf.map((one, index) => (
          <>
            {index > 0 && docsWords.or}
            <Kind key={index} schema={one} />
          </>
        ))}
      </>
    );
  }
  if (schema.items) {
    return (
      <>
        {docsWords.listOf}
        <Kind schema={schema.items} />
      </>
    );
  }
  return <code>{kindOf(schema)}</code>;
}

/** Text with `code` in it. */
function Text({ text }: { text: string }) {
  return <>{text.split("`").map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}</>;
}

const page = document.getElementById("page");
if (page) {
  request<Document>("openapi.json")
    .then((api) => {
      render(<Docs api={api} />, page);
      document.getElementById(location.hash.slice(1))?.scrollIntoView();
    })
    .catch((error: unknown) => {
      const locked = error instanceof Problem && error.status === 401;
      render(
        <main class="login">
          <p>{locked ? docsWords.locked : docsWords.unreadable}</p>
          <a href="./">{docsWords.openPage}</a>
        </main>,
        page,
      );
    });
}
