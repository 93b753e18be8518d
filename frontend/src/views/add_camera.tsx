// Adding a camera in two steps: its network, then what the camera is and its password.

import { useEffect, useRef, useState } from "preact/hooks";
import { choose, simulatedPassword, tellAdded, unguessed } from "../adding";
import { deviceAddress, Problem, request } from "../api";
import { isBluetoothReady } from "../bluetooth";
import { clear, draft, draftPassword, edit } from "../draft";
import { t } from "../messages";
import { isGoPro, loadModels, models } from "../models";
import { closeSteps, openStep, stepBack } from "../route";
import { printable } from "../sentences";
import { devices } from "../state";
import type { Device, Network, Search } from "../types";
import { isWifiText, wifiText, type WifiText } from "../wifi_text";
import { BluetoothCameras } from "./bluetooth_cameras";
import { BluetoothLack } from "./bluetooth_lack";
import { Field, type FieldFaults, ModelField, PasswordField, SsidField } from "./fields";
import { Dialog, Faults, Name, Signal, useFocusOnFault } from "./parts";
import { canScan, QrScanner } from "./qr_scanner";
import "./shared";

/** Which step has which field. */
const STEP_OF: Record<string, number> = { ssid: 0, codename: 1, password: 1, name: 1 };

export default function AddCamera({ step, onBulk }: { step: number; onBulk: (text: string) => void }) {
  const [faults, setFaults] = useState<FieldFaults>({});
  const [isSaving, setSaving] = useState(false);
  const form = useFocusOnFault(faults);
  const { ssid } = draft.value;
  // Without a network, e.g. by an address that was kept, the second step has nothing to add.
  const shown = ssid ? step : 0;
  useEffect(() => void loadModels().catch(() => undefined), []);

  const cancel = () => {
    clear();
    closeSteps();
  };

  const finish = (added: Device) => {
    clear();
    closeSteps();
    tellAdded(added);
  };

  const save = async () => {
    const { codename, isOpen, name } = draft.value;
    const password = isOpen ? "" : draftPassword.value;
    const missing: FieldFaults = {
      ...(codename ? {} : { codename: [t.add.modelNeeded] }),
      ...(password || isOpen ? {} : { password: [t.add.passwordNeeded] }),
    };
    setFaults(missing);
    if (Object.keys(missing).length > 0) return;
    setSaving(true);
    const settings = { ssid, password };
    const body = { codename, connection_type: "wifi", connection_settings: settings, ...(name.trim() ? { name } : {}) };
    try {
      finish(await request<Device>(deviceAddress(), { method: "POST", body }));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const fields = Object.keys(error.fields).filter((field) => field in STEP_OF);
      setSaving(false);
      setFaults(fields.length > 0 ? error.fields : { all: [error.message] });
      if (fields.some((field) => STEP_OF[field] === 0)) stepBack();
    }
  };

  const submit = (event: Event) => {
    event.preventDefault();
    setFaults({});
    if (shown === 0) openStep(1);
    else void save();
  };

  return (
    <Dialog title={t.add.title} onClose={cancel}>
      <ol class="steps">
        {t.add.steps.map((title, index) => (
          <li key={title} class={index < shown ? "done" : ""} aria-current={index === shown ? "step" : undefined}>
            {title}
          </li>
        ))}
      </ol>
      <form ref={form} onSubmit={submit} class="wizard" noValidate>
        <div class="wizard-body">
          {shown === 0 ? <NetworkStep faults={faults} onAdded={finish} onBulk={onBulk} /> : <CameraStep faults={faults} />}
          <Faults id="add-fault" sentences={faults.all} />
        </div>
        <div class="actions">
          <button type="button" onClick={() => (shown === 0 ? cancel() : stepBack())}>
            {shown === 0 ? t.hub.cancel : t.add.back}
          </button>
          <span class="spread" />
          <button type="submit" class="primary" disabled={!ssid || isSaving} aria-busy={isSaving}>
            {isSaving && <span class="spinner" aria-hidden="true" />}
            {shown === 0 ? t.add.next : t.add.save}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The device that has this network already. */
const registeredAs = (ssid: string): Device | undefined =>
  ssid ? [...devices.value.values()].find((one) => one.connection_settings.ssid === ssid) : undefined;

interface NetworkProps {
  faults: FieldFaults;
  onAdded: (added: Device) => void;
  onBulk: (text: string) => void;
}

function NetworkStep({ faults, onAdded, onBulk }: NetworkProps) {
  const { ssid } = draft.value;
  const [results, setResults] = useState<Search | null>(null);
  const [fault, setFault] = useState("");
  const [isSearching, setSearching] = useState(false);
  const [isPasted, setPasted] = useState(false);
  const [isScanning, setScanning] = useState(false);
  /** The text of a QR code that is not understood or of no use, or not yet. It may hold a password: a draft is stored. */
  const [unread, setUnread] = useState("");
  const search = async () => {
    setSearching(true);
    setFault("");
    try {
      setResults(await request<Search>(deviceAddress("wifi/networks")));
    } catch (error) {
      setFault(error instanceof Problem ? error.message : t.hub.failed);
    }
    setSearching(false);
  };
  const part = useRef<HTMLDivElement>(null);
  useEffect(() => void search().then(() => focusOnFirst(part.current)), []);

  const type = (text: string) => {
    // Typed by hand, it is whole once it has its end; what is pasted may lack it.
    const isWhole = text.endsWith(";;") || text.length > (unread || ssid).length + 1;
    const read = isWhole ? wifiText(text) : null;
    const found = read?.unsupported || read?.fault ? null : read;
    setUnread(!found && isWifiText(text) ? text : "");
    const name = found?.ssid ?? (isWifiText(text) ? "" : text);
    const seen = results?.networks.find((one) => one.ssid === name);
    if (seen) choose(seen);
    else edit({ ssid: name, security: "", isOpen: false, ...(draft.value.isChosen ? {} : { codename: unguessed(name), isGuessed: false }) });
    if (found) {
      draftPassword.value = found.password;
      edit({ isOpen: found.isOpen });
    }
    setPasted(found !== null);
  };

  /** Several lines are several cameras: the field for a network's name would make one of them. */
  const pastedList = (event: ClipboardEvent) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.split(/[\r\n]+/).filter((line) => line.trim()).length < 2) return;
    event.preventDefault();
    onBulk(text);
  };

  /** Whether a text that this device's camera saw is that of a network. */
  const scanned = (text: string): boolean => {
    const isWanted = wifiText(text) !== null;
    if (isWanted) type(text);
    return isWanted;
  };

  const registered = registeredAs(ssid);
  return (
    <div ref={part} class="step" onPaste={pastedList}>
      <button type="button" class="several" onClick={() => onBulk("")}>
        {t.add.several}
      </button>
      {isBluetoothReady() && <BluetoothCameras onAdded={onAdded} />}
      <fieldset class="choices" aria-busy={isSearching}>
        <legend>{t.add.networks}</legend>
        {isSearching && <progress aria-label={t.add.searching} />}
        <Faults id="networks-fault" sentences={fault ? [fault] : undefined} />
        {results?.networks.map((network) => (
          <NetworkChoice key={network.ssid_hex + network.security} network={network} />
        ))}
        {results && !isSearching && remark(results) && <p>{remark(results)}</p>}
        <button type="button" disabled={isSearching} onClick={() => void search()}>
          {t.add.searchAgain}
        </button>
      </fieldset>
      <SsidField id="add-ssid" label={t.add.typeName} hint={t.add.typeHint} value={unread || ssid} onInput={type} faults={unread ? [whyUnread(wifiText(unread))] : faults.ssid} />
      {canScan() && !isScanning && (
        <button type="button" onClick={() => setScanning(true)}>
          {t.add.scan}
        </button>
      )}
      {isScanning && <QrScanner onText={scanned} onEnd={() => setScanning(false)} />}
      <div role="status" class="remarks">
        {isPasted && <p>{t.add.pasted}</p>}
        {registered && <p class="warning">{t.add.registered(printable(registered.name))}</p>}
      </div>
      <BluetoothLack />
    </div>
  );
}

/** Why the text of a QR code is of no use. */
function whyUnread(read: WifiText | null): string {
  if (read?.unsupported) return t.add.unsupported(read.unsupported);
  return read?.fault ? t.add.textFaults[read.fault] : t.add.unreadable;
}

/** Once the networks are there: to the chosen one or the first, unless a person went elsewhere meanwhile. */
function focusOnFirst(part: HTMLElement | null): void {
  const focused = document.activeElement;
  const isAtWork = focused instanceof HTMLInputElement || focused instanceof HTMLButtonElement;
  if (!part || isAtWork) return;
  const usable = [...part.querySelectorAll<HTMLInputElement>("input[type=radio]:enabled")];
  (usable.find((one) => one.checked) ?? usable[0])?.focus();
}

/** What to say of a search beside what it found. */
function remark(results: Search): string {
  if (results.scanned_interfaces.length > 0) return results.networks.length > 0 ? "" : t.add.noneFound;
  const reasons = Object.entries(results.skipped_interfaces).map(([name, why]) => `${name}: ${why}`);
  if (reasons.length === 0) return t.add.noAdapter;
  return t.add.noFree(printable(reasons.join("; ")), results.networks.length > 0);
}

function NetworkChoice({ network }: { network: Network }) {
  const isText = !network.ssid.includes("\ufffd");
  const usable = isText && network.security !== "enterprise" && network.security !== "wep";
  const registered = network.device_id === null ? undefined : devices.value.get(network.device_id);
  const notes = [
    t.security[network.security] ?? network.security,
    network.bands.join(", "),
    ...(network.codename === null && isGoPro(network.ssid) ? [t.add.whichGoPro] : []),
    ...(registered ? [t.add.registeredNote(printable(registered.name))] : []),
    ...(isText ? [] : [t.add.notText]),
  ];
  return (
    <label class="choice">
      <input
        type="radio"
        name="network"
        disabled={!usable}
        checked={draft.value.ssid === network.ssid}
        onChange={() => choose(network)}
      />
      <span>
        <Name text={network.ssid} />
        <small>{notes.join(" · ")}</small>
      </span>
      <Signal percent={network.signal_strength} />
    </label>
  );
}

function CameraStep({ faults }: { faults: FieldFaults }) {
  const { ssid, security, codename, isChosen, isGuessed, isOpen, name } = draft.value;
  const registered = registeredAs(ssid);
  const nameInput = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isOpen) nameInput.current?.focus();
  }, []);
  const guess = isChosen ? undefined : isGuessed ? t.add.guessed : isGoPro(ssid) ? t.add.selectGoPro : t.add.notGuessed;
  // Offered where nothing is known of the network; one that was found says itself whether it is open.
  const canBeOpen = security === "";
  const simulated = simulatedPassword(ssid);
  return (
    <>
      <p>
        {t.add.network} <Name text={ssid} />
      </p>
      {registered && <p class="warning">{t.add.registered(printable(registered.name))}</p>}
      {isOpen && !canBeOpen && <p>{t.add.openNetwork}</p>}
      {!isOpen && (
        <PasswordField
          id="add-password"
          label={t.add.password}
          hint={simulated ? t.add.simulatedPassword(simulated) : t.add.passwordHint}
          known={simulated}
          value={draftPassword.value}
          onInput={(value) => (draftPassword.value = value)}
          faults={faults.password}
          hasFocus
        />
      )}
      {canBeOpen && (
        <label class="check">
          <input type="checkbox" checked={isOpen} onChange={(event) => edit({ isOpen: event.currentTarget.checked })} />
          {t.add.isOpen}
        </label>
      )}
      {models.value !== null && (
        <ModelField
          id="add-model"
          codename={codename}
          hint={guess}
          onChoose={(chosen) => edit({ codename: chosen, isChosen: true })}
          faults={faults.codename}
        />
      )}
      <Field id="add-name" label={t.add.name} faults={faults.name}>
        {(described) => (
          <input
            ref={nameInput}
            type="text"
            autocomplete="off"
            value={name}
            onInput={(event) => edit({ name: event.currentTarget.value })}
            placeholder={ssid}
            {...described}
          />
        )}
      </Field>
    </>
  );
}
