// The texts of the API's description.

import { inLanguage } from "../messages";

const en = {
  title: "Camera hub API",
  parts: "Sections",
  index: "Index",
  what: "What",
  where: "Where",
  prefix: "stands for",
  values: "Schemas",
  version: (version: string) => `Version ${version}.`,
  forPrograms: "Machine-readable:",
  openapi: "openapi.json",
  asyncapi: "asyncapi.json",
  documents: "All documents",
  back: "Back to the cameras",
  body: "Body:",
  required: "required",
  optional: "optional",
  or: " or ",
  listOf: "list of ",
  example: "Example",
  locked: "Sign in with the hub's token first: ",
  unreadable: "Could not load the API description. ",
  openPage: "Open the hub's page",
};

export const docsWords = inLanguage({ en });
