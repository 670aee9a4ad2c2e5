import { Component, type ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Evidence } from "../contract";
import { shown_line, visible } from "../text";

/** Small parts that several others use. */

/** Holds a part of the page: one that cannot be drawn says so, and the others stand. `of` is what it draws. */
export class Part extends Component<
  { name: string; of: unknown; children: ComponentChildren },
  { failed: string | null; of: unknown }
> {
  override state: { failed: string | null; of: unknown } = { failed: null, of: undefined };

  static override getDerivedStateFromError(error: unknown) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }

  /** What is new is tried anew. */
  static override getDerivedStateFromProps(props: { of: unknown }, state: { of: unknown }) {
    return props.of === state.of ? null : { failed: null, of: props.of };
  }

  override render() {
    if (this.state.failed === null) return this.props.children;
    return (
      <p class="bar warn">
        {this.props.name} cannot be drawn: {visible(this.state.failed)}
      </p>
    );
  }
}

/** In words an arrow is one character: no line ends between its two halves. */
const arrows = (text: string): string => text.replaceAll(" -> ", " → ");

/** A text of the program in which `...` marks code. */
export const Prose = ({ text }: { text: string }) => {
  const parts = visible(text).split("`");
  // A mark without its fellow opens nothing.
  if (parts.length % 2 === 0) return <>{arrows(visible(text))}</>;
  return <>{parts.map((part, at) => (at % 2 ? <code key={at}>{part}</code> : arrows(part)))}</>;
};

const copy_text = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not allowed on a page from a file: the old way.
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "offstage";
  document.body.append(area);
  area.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch {
    done = false;
  }
  area.remove();
  return done;
};

export const Copy = ({ text, what }: { text: string; what: string }) => {
  const [told, set_told] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const copy = async () => {
    set_told((await copy_text(text)) ? "Copied" : "Select and copy");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set_told(""), 1600);
  };
  return (
    <button type="button" class="copy" aria-label={`Copy ${what}`} onClick={copy}>
      <span aria-live="polite">{told || "Copy"}</span>
    </button>
  );
};

export const Lines = ({ evidence, most = 6 }: { evidence: Evidence[]; most?: number }) =>
  evidence.length === 0 ? null : (
    <ul class="lines">
      {evidence.slice(0, most).map((each, at) => (
        <li key={at}>
          <span class="where">
            {visible(each.path.split("/").slice(-2).join("/"))}
            {each.line > 0 && `:${each.line}`}
            {each.step !== null && ` · step ${each.step}`}
          </span>
          {each.text && <span class="text">{shown_line(each.text, 1000)}</span>}
        </li>
      ))}
    </ul>
  );

export const Fold = ({
  title,
  children,
  open = false,
  on_open,
}: {
  title: ComponentChildren;
  children: ComponentChildren;
  open?: boolean;
  on_open?: () => void;
}) => (
  <details
    open={open}
    onToggle={(event) => {
      if (event.currentTarget.open) on_open?.();
    }}
  >
    <summary>{title}</summary>
    <div class="inner">{children}</div>
  </details>
);
