// Inputs with their label, their help and what is wrong with them.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../api";
import { t } from "../messages";
import { loadModels, models } from "../models";
import { Faults } from "./parts";

export type FieldFaults = Readonly<Record<string, string[]>>;

interface FieldProps {
  id: string;
  label: string;
  hint?: string | undefined;
  faults?: readonly string[] | undefined;
  children: (described: { id: string; "aria-describedby": string | undefined; "aria-invalid": boolean }) => ComponentChildren;
}

/** A label, an input, and below it what is wrong with it. */
export function Field({ id, label, hint, faults, children }: FieldProps) {
  const isWrong = Boolean(faults?.length);
  const described = [isWrong && `${id}-fault`, hint && `${id}-hint`].filter(Boolean).join(" ") || undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": described, "aria-invalid": isWrong })}
      {hint && <small id={`${id}-hint`}>{hint}</small>}
      <Faults id={`${id}-fault`} sentences={faults} />
    </div>
  );
}

interface SsidProps {
  id: string;
  label: string;
  hint: string;
  value: string;
  onInput: (value: string) => void;
  faults?: readonly string[] | undefined;
}

/** A network's name, which keyboards and browsers are not to correct. */
export function SsidField({ id, label, hint, value, onInput, faults }: SsidProps) {
  return (
    <Field {...{ id, label, hint, faults }}>
      {(described) => (
        <input
          type="text"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
          {...described}
        />
      )}
    </Field>
  );
}

interface PasswordProps {
  id: string;
  label: string;
  hint?: string;
  /** The password where it is no secret. */
  known?: string | undefined;
  value: string;
  onInput: (value: string) => void;
  faults?: readonly string[] | undefined;
  hasFocus?: boolean;
}

/** A password that can be shown while it is typed. */
export function PasswordField({ id, label, hint, known, value, onInput, faults, hasFocus }: PasswordProps) {
  const [isShown, setShown] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (hasFocus) input.current?.focus();
  }, []);
  return (
    <Field {...{ id, label, hint, faults }}>
      {(described) => (
        <span class="with-button">
          <input
            ref={input}
            type={isShown ? "text" : "password"}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            maxLength={64}
            value={value}
            onInput={(event) => onInput(event.currentTarget.value)}
            data-first={hasFocus ? "" : undefined}
            {...described}
          />
          {known && (
            <button type="button" onClick={() => onInput(known)}>
              {t.add.useIt}
              <span class="visually-hidden">{t.add.useItWhat}</span>
            </button>
          )}
          <button type="button" aria-pressed={isShown} aria-controls={id} onClick={() => setShown(!isShown)}>
            {isShown ? t.add.hide : t.add.show}
            <span class="visually-hidden">{t.add.showWhat}</span>
          </button>
        </span>
      )}
    </Field>
  );
}

interface ModelProps {
  id: string;
  codename: string;
  onChoose: (codename: string) => void;
  hint?: string | undefined;
  faults?: readonly string[] | undefined;
}

export function ModelField({ id, codename, onChoose, hint, faults }: ModelProps) {
  const [fault, setFault] = useState("");
  useEffect(() => {
    loadModels().catch((error: unknown) => setFault(error instanceof Problem ? error.message : t.hub.failed));
  }, []);
  const all = models.value;
  if (!all && !fault) return <progress aria-label={t.add.modelsLoading} />;
  const isKnown = all?.some((one) => one.codename === codename);
  return (
    <Field id={id} label={t.add.model} hint={hint} faults={fault ? [fault] : faults}>
      {(described) => (
        <select value={codename} onChange={(event) => onChoose(event.currentTarget.value)} {...described}>
          {!isKnown && <option value={codename}>{codename || t.add.chooseModel}</option>}
          {all?.map((model) => (
            <option key={model.codename} value={model.codename}>
              {model.device_name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
