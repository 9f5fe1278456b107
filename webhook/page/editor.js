// The manifest's text: line numbers, files by choice or drop, and the place of a fault.

import { Problem } from "./api.js";
import { $, count, megabytes } from "./dom.js";

const LINE = 20; // pixels, as style.css says, like PADDING
const PADDING = 10;
const LARGE = 10_000; // characters that are pasted at once
const EDITABLE = 300_000; // characters: of more a part is shown, for each key would make the browser lay all of it out again
const PART = 2000; // lines
const MOST_BYTES = 3 << 20; // more the server refuses: run.py, LIMITS

export class Editor {
  constructor(onChange) {
    this.area = $("manifest");
    this.gutter = $("gutter");
    this.onChange = onChange;
    this.whole = null; // a text that is too long to be edited
    this.above = 0; // lines before the part of it that is shown
    this.left = 0; // characters of the part's first line before it
    this.lines = 1;
    this.fault = 0;
    this.area.addEventListener("input", () => this.changed());
    this.area.addEventListener("paste", (event) => this.paste(event));
    this.area.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.area);
    $("files").addEventListener("change", (event) => this.read(event.target.files));
    this.followDrops();
    this.changed();
  }

  get text() {
    return this.whole ?? this.area.value;
  }

  set text(text) {
    this.whole = text.length > EDITABLE ? text : null;
    this.area.readOnly = this.whole !== null;
    if (this.whole === null) this.area.value = text;
    else this.showPart(1);
    this.area.scrollTop = 0;
    this.area.setSelectionRange(0, 0);
    this.changed();
  }

  changed() {
    this.lines = countLines(this.text);
    if (this.whole === null) this.above = this.left = 0;
    $("long").textContent = this.whole === null ? "" : `${megabytes(this.whole)} in ${count(this.lines, "line")}: shown in part and not to be edited here, judged in full.`;
    this.tell("");
    this.draw();
    this.onChange(this.text);
  }

  /** Show what is around a place of a text that is too long: from a line above it, or, where lines are long, from within its own. */
  showPart(line, column = 1) {
    const place = startOfLine(this.whole, line) + column - 1;
    this.above = Math.max(0, line - PART / 2);
    let start = startOfLine(this.whole, this.above + 1);
    if (place - start > EDITABLE / 2) {
      this.above = line - 1;
      start = Math.max(place - column + 1, place - EDITABLE / 2);
    }
    this.left = this.above === line - 1 ? start - (place - column + 1) : 0;
    const end = startOfLine(this.whole, this.above + 1 + PART);
    this.area.value = this.whole.slice(start, Math.min(end, start + EDITABLE));
  }

  /** Take a large paste at once: a browser's own way to insert it costs minutes, for it grows with the square of the lines. */
  paste(event) {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.length < (this.whole === null ? LARGE : 1)) return;
    event.preventDefault();
    const { selectionStart: start, selectionEnd: end, value } = this.area;
    if (this.whole !== null) this.text = text;
    else if (value.length - (end - start) + text.length > EDITABLE) this.text = value.slice(0, start) + text + value.slice(end);
    else {
      this.area.setRangeText(text, start, end, "end");
      this.changed();
    }
  }

  /** Show a fault below the text, and where it is. */
  tell(message, line = 0, column = 0) {
    this.fault = line;
    $("problem").textContent = message;
    if (message) this.area.setAttribute("aria-invalid", "true");
    else this.area.removeAttribute("aria-invalid");
    if (line) this.goTo(line, column);
    this.draw();
  }

  goTo(line, column = 1) {
    if (this.whole !== null) this.showPart(line, column);
    const shown = this.area.value;
    const start = startOfLine(shown, line - this.above);
    const end = shown.indexOf("\n", start);
    const stop = end < 0 ? shown.length : end;
    this.area.focus({ preventScroll: false });
    const shift = column - 1 - this.left;
    this.area.setSelectionRange(Math.min(start + shift, stop), stop);
    this.area.scrollTop = Math.max(0, (line - this.above - 4) * LINE);
    this.area.scrollLeft = Math.max(0, (shift - 29) * 7);
  }

  draw() {
    const first = this.above + Math.floor(this.area.scrollTop / LINE);
    const shown = Math.min(this.lines - first, Math.ceil(this.area.clientHeight / LINE) + 1);
    const numbers = Array.from({ length: Math.max(shown, 1) }, (_, index) => {
      const number = document.createElement("span");
      number.textContent = String(first + index + 1);
      if (first + index + 1 === this.fault) number.className = "fault";
      return number;
    });
    this.gutter.replaceChildren(...numbers);
    this.gutter.style.setProperty("--shift", `${PADDING - (this.area.scrollTop % LINE)}px`);
  }

  async read(files) {
    const chosen = [...files];
    if (!chosen.length) return;
    const bytes = chosen.reduce((sum, file) => sum + file.size, 0);
    if (bytes > MOST_BYTES) {
      this.tell(`The page takes 3 MiB, and the files have ${(bytes / (1 << 20)).toFixed(1)}: nothing was read. Choose fewer, or run fabric-injector dry-run -f FILE.`);
      return;
    }
    try {
      const texts = await Promise.all(chosen.map(textOf));
      this.text = texts.join("\n---\n");
    } catch (error) {
      this.tell(error instanceof Problem ? error.message : "The file cannot be read: it may have been moved, or be a folder.");
    }
    $("files").value = "";
  }

  followDrops() {
    const box = $("editor");
    const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
    addEventListener("dragover", (event) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      box.classList.add("dropping");
    });
    addEventListener("dragleave", (event) => event.relatedTarget || box.classList.remove("dropping"));
    addEventListener("drop", (event) => {
      box.classList.remove("dropping");
      if (!holdsFiles(event)) return;
      event.preventDefault();
      this.read(event.dataTransfer.files);
    });
  }
}

const CODINGS = { "255,254": "utf-16le", "254,255": "utf-16be" }; // by their first bytes, as PowerShell writes them

async function textOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    return new TextDecoder(CODINGS[bytes.slice(0, 2)] ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Problem(`${file.name} is no text in UTF-8: nothing was read.`);
  }
}

function countLines(text) {
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

function startOfLine(text, line) {
  let start = 0;
  for (let number = 1; number < line; number += 1) {
    const end = text.indexOf("\n", start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  return start;
}
