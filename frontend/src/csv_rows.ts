// A table of comma-separated values (RFC 4180), strictly, as Python's module `csv` reads it, which `wifimgrctl` uses.

export interface CsvRow {
  cells: string[];
  /** How many lines were read when it was whole. */
  line: number;
}

/** What is wrong, and in which line. */
export class CsvFault extends Error {
  constructor(
    readonly line: number,
    message: string,
  ) {
    super(message);
  }
}

/** As large as a cell can be. */
const LARGEST = 131_072;

type State = "begin" | "cell" | "quoted" | "quote";

export function csvRows(text: string, delimiter: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let cell = "";
  let state: State = "begin";
  let isNew = true;
  let line = 0;
  const endCell = () => {
    cells.push(cell);
    cell = "";
    state = "begin";
  };
  for (const [all, content = "", end = ""] of text.matchAll(/([^\r\n]*)(\r\n|\r|\n|$)/g)) {
    if (all === "") break;
    line += 1;
    for (const one of content) {
      isNew = false;
      if (state === "quoted") {
        if (one === '"') state = "quote";
        else cell += one;
      } else if (one === delimiter) endCell();
      else if (state === "quote") {
        if (one !== '"') throw new CsvFault(line, `'${delimiter}' expected after '"'`);
        cell += one;
        state = "quoted";
      } else if (state === "begin" && one === '"') state = "quoted";
      else {
        cell += one;
        state = "cell";
      }
      if (cell.length > LARGEST) throw new CsvFault(line, `field larger than field limit (${LARGEST})`);
    }
    if (state === "quoted") {
      cell += end;
      continue;
    }
    if (!isNew) endCell();
    rows.push({ cells, line });
    cells = [];
    isNew = true;
  }
  if (state === "quoted") throw new CsvFault(line, "unexpected end of data");
  return rows;
}
