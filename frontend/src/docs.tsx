// The API for people: /openapi.json as a page, without anything from elsewhere.

import { render } from "preact";
import { ask, Problem } from "./api";

/** Leads to the hub's own address: this page answers with and without a slash at its end. */
const root = document.querySelector<HTMLMetaElement>('meta[name="wifimgrd-root"]')?.content ?? "";

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
  content?: Record<string, { schema?: Schema }>;
}

interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: { name: string; in: string; required: boolean; description: string; schema: Schema }[];
  requestBody?: Content;
  responses: Record<string, Content & { description: string }>;
}

interface Document {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

function Docs({ api }: { api: Document }) {
  const all = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return (
    <>
      <header>
        <h1>API of the camera hub</h1>
        <nav aria-label="Parts">
          {api.tags.map((tag) => (
            <a key={tag.name} href={`#${tag.name}`}>
              {tag.name}
            </a>
          ))}
          <a href="#schemas">values</a>
        </nav>
      </header>
      <main id="content" class="docs">
        <p>
          Version {api.info.version}. <Text text={api.info.description} /> For programs: <a href={`${root}openapi.json`}>openapi.json</a>,{" "}
          <a href={`${root}asyncapi.json`}>asyncapi.json</a>. <a href={root || "./"}>Back to the cameras</a>
        </p>
        {api.tags.map((tag) => (
          <section key={tag.name} id={tag.name}>
            <h2>{tag.description}</h2>
            {all
              .filter(({ operation }) => operation.tags.includes(tag.name))
              .map(({ path, method, operation }) => (
                <OperationPart key={operation.operationId} path={path} method={method} operation={operation} />
              ))}
          </section>
        ))}
        <section id="schemas">
          <h2>Values</h2>
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

function OperationPart({ path, method, operation }: { path: string; method: string; operation: Operation }) {
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
                <code>{one.name}</code> <small>{[one.in, one.required ? "required" : "", kindOf(one.schema)].filter(Boolean).join(", ")}</small>
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
          Body: <Kind schema={schemaOf(operation.requestBody)} />
        </p>
      )}
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

function Members({ schema }: { schema: Schema }) {
  return (
    <dl>
      {Object.entries(schema.properties ?? {}).map(([name, member]) => (
        <div key={name}>
          <dt>
            <code>{name}</code> <small>{schema.required?.includes(name) ? "" : "optional"}</small>
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
            {index > 0 && " or "}
            <Kind key={index} schema={one} />
          </>
        ))}
      </>
    );
  }
  if (schema.items) {
    return (
      <>
        list of <Kind schema={schema.items} />
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
  ask<Document>(`${root}openapi.json`)
    .then((api) => {
      render(<Docs api={api} />, page);
      document.getElementById(location.hash.slice(1))?.scrollIntoView();
    })
    .catch((error: unknown) => {
      const locked = error instanceof Problem && error.status === 401;
      render(
        <main class="login">
          <p>{locked ? "The hub asks for its token first: " : "The description could not be read. "}</p>
          <a href={root || "./"}>Open the hub's page</a>
        </main>,
        page,
      );
    });
}
