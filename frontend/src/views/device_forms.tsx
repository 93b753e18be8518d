// What can be changed of a camera: a dialog each.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change, Problem, remove } from "../api";
import { aboutDevice, command } from "../commands";
import { t } from "../messages";
import { editWords } from "../messages/edit";
import { printable } from "../sentences";
import { devices, interfaces } from "../state";
import { notify } from "../toasts";
import type { Device } from "../types";
import { Field, type FieldFaults, ModelField, PasswordField, SsidField } from "./fields";
import { openedForm, pinWords } from "./open_form";
import { Pairing } from "./pairing";
import { Dialog, Faults, Name, useFocusOnFault } from "./parts";
import "./shared";

interface FormProps {
  device: Device;
  onClose: () => void;
}

/** The dialog that is open for a camera. */
export default function OpenForm() {
  const shown = openedForm.value;
  const now = shown && devices.value.get(shown.device.id);
  const close = () => void (openedForm.value = null);
  const isGone = shown !== null && !now;
  useEffect(() => close, []); // who signs in next may be another person
  useEffect(() => {
    if (!isGone || !shown) return;
    close();
    notify(aboutDevice(shown.device.id), t.events.removed(printable(shown.device.name)), "plain");
  }, [isGone]);
  if (!shown || !now) return null;
  const View = { edit: Edit, password: Password, pair: Pair, remove: Remove }[shown.form];
  return <View device={now} onClose={close} />;
}

/** Save what a form says; what is wrong with it stands under `all` where no field of it is to blame. */
function useSaving(fields: readonly string[], onClose: () => void) {
  const [faults, setFaults] = useState<FieldFaults>({});
  const [isSaving, setSaving] = useState(false);
  const save = async (device: Device, body: unknown) => {
    setSaving(true);
    try {
      const saved = (await change(device.id, body)) as Device;
      onClose();
      notify(aboutDevice(device.id), t.answers.saved(printable(saved.name)), "good");
      return true;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setFaults(fields.some((field) => error.fields[field]) ? error.fields : { all: [error.message] });
      setSaving(false);
      return false;
    }
  };
  return { faults, isSaving, save };
}

interface SavingFormProps {
  title: string;
  faults: FieldFaults;
  isSaving: boolean;
  saving: string;
  onSubmit: (event: Event) => void;
  onClose: () => void;
  children: ComponentChildren;
}

/** A dialog with fields, what is wrong with none of them in particular, and the buttons. */
function SavingForm({ title, faults, isSaving, saving, onSubmit, onClose, children }: SavingFormProps) {
  const form = useFocusOnFault(faults);
  return (
    <Dialog title={title} onClose={onClose}>
      <form ref={form} onSubmit={onSubmit}>
        {children}
        <Faults id="form-fault" sentences={faults.all} />
        <div class="actions">
          <span class="spread" />
          <button type="button" onClick={onClose}>
            {t.hub.cancel}
          </button>
          <button type="submit" class="primary" disabled={isSaving} aria-busy={isSaving}>
            {isSaving && <span class="spinner" aria-hidden="true" />}
            {saving}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const FIELDS = ["name", "codename", "ssid", "password", "auto_reconnect", "auto_wake", "priority", "pin"];
type Pin = Device["pin"];
const pinText = (pin: Pin) => JSON.stringify(pin);

/** The adapters that can be reserved: by the port, which stays the same where the adapter is replaced, and by the address. */
function pinChoices(before: Pin): [string, string][] {
  const adapters = [...interfaces.value.values()];
  const choices = new Map<string, string>();
  for (const { name, usb, mac_address: mac } of adapters) {
    if (usb.port) choices.set(pinText({ usb_port: usb.port }), `${name}: ${t.camera.pinPort(usb.port)}`);
    if (mac) choices.set(pinText({ mac }), `${name}: ${t.camera.pinMac(mac)}`);
  }
  if (before && !choices.has(pinText(before))) choices.set(pinText(before), pinWords(before));
  return [...choices];
}

/** Everything that can be changed of a camera. */
export function Edit({ device: now, onClose }: FormProps) {
  const [device] = useState(now);
  const [name, setName] = useState(device.name);
  const [codename, setCodename] = useState(device.codename);
  const [ssid, setSsid] = useState(device.connection_settings.ssid);
  const [password, setPassword] = useState("");
  const [isReconnecting, setReconnecting] = useState(device.auto_reconnect);
  const [isWoken, setWoken] = useState(device.auto_wake);
  const [priority, setPriority] = useState(String(device.priority));
  const [pin, setPin] = useState(pinText(device.pin));
  const { faults, isSaving, save } = useSaving(FIELDS, onClose);
  const submit = (event: Event) => {
    event.preventDefault();
    // Only what was changed here, since it was opened: another person may be changing the rest.
    const settings = {
      ...(ssid === device.connection_settings.ssid ? {} : { ssid }),
      ...(password ? { password } : {}),
    };
    const body = {
      ...(name === device.name ? {} : { name }),
      ...(codename === device.codename ? {} : { codename }),
      ...(Object.keys(settings).length > 0 ? { connection_settings: settings } : {}),
      ...(isReconnecting === device.auto_reconnect ? {} : { auto_reconnect: isReconnecting }),
      ...(isWoken === device.auto_wake ? {} : { auto_wake: isWoken }),
      ...(Number(priority) === device.priority ? {} : { priority: Number(priority) }),
      ...(pin === pinText(device.pin) ? {} : { pin: JSON.parse(pin) as unknown }),
    };
    void save(device, body);
  };
  return (
    <SavingForm title={editWords.title(printable(device.name))} saving={editWords.save} onSubmit={submit} {...{ faults, isSaving, onClose }}>
      <Field id="edit-name" label={t.camera.name} faults={faults.name}>
        {(described) => (
          <input type="text" autocomplete="off" value={name} onInput={(event) => setName(event.currentTarget.value)} {...described} />
        )}
      </Field>
      <ModelField id="edit-model" codename={codename} onChoose={setCodename} faults={faults.codename} />
      <SsidField id="edit-ssid" label={editWords.network} hint={editWords.networkHint} value={ssid} onInput={setSsid} faults={faults.ssid} />
      <PasswordField
        id="edit-password"
        label={editWords.newPassword}
        value={password}
        onInput={setPassword}
        faults={faults.password}
      />
      <label class="check">
        <input type="checkbox" checked={isReconnecting} onChange={(event) => setReconnecting(event.currentTarget.checked)} />
        {editWords.reconnect}
      </label>
      {isWoken !== null && (
        <label class="check">
          <input type="checkbox" checked={isWoken} onChange={(event) => setWoken(event.currentTarget.checked)} />
          <span>
            {editWords.wake}
            <small>{editWords.wakeHint}</small>
          </span>
        </label>
      )}
      <Field id="edit-priority" label={editWords.priority} hint={editWords.priorityHint} faults={faults.priority}>
        {(described) => (
          <input
            type="number"
            min="-1000"
            max="1000"
            step="1"
            required
            value={priority}
            onInput={(event) => setPriority(event.currentTarget.value)}
            {...described}
          />
        )}
      </Field>
      <Field id="edit-pin" label={t.camera.pin} hint={t.camera.pinAdvice} faults={faults.pin}>
        {(described) => (
          <select value={pin} onChange={(event) => setPin(event.currentTarget.value)} {...described}>
            <option value="null">{t.camera.noPin}</option>
            {pinChoices(device.pin).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Pairing device={now} />
    </SavingForm>
  );
}

/** Only the pairing, for a command that needs it. */
export function Pair({ device, onClose }: FormProps) {
  return (
    <Dialog title={t.bluetooth.title} onClose={onClose}>
      <form onSubmit={(event) => event.preventDefault()}>
        <Pairing device={device} />
        <div class="actions">
          <span class="spread" />
          <button type="button" onClick={onClose}>
            {t.hub.close}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function Password({ device, onClose }: FormProps) {
  const [password, setPassword] = useState("");
  const { faults, isSaving, save } = useSaving(["password"], onClose);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await save(device, { connection_settings: { password } })) void command(device, "connect");
  };
  return (
    <SavingForm
      title={editWords.passwordTitle(printable(device.name))}
      saving={editWords.passwordSave}
      onSubmit={(event) => void submit(event)}
      {...{ faults, isSaving, onClose }}
    >
      <PasswordField
        id="new-password"
        label={editWords.passwordLabel}
        value={password}
        onInput={setPassword}
        faults={faults.password}
        hasFocus
      />
    </SavingForm>
  );
}

export function Remove({ device, onClose }: FormProps) {
  const [fault, setFault] = useState("");
  const [isWorking, setWorking] = useState(false);
  const go = async () => {
    setWorking(true);
    try {
      await remove(device.id);
      onClose();
      notify(aboutDevice(device.id), t.answers.removed(printable(device.name)), "plain");
      document.getElementById("cameras-title")?.focus();
    } catch (error) {
      setFault(error instanceof Problem ? error.message : t.hub.failed);
      setWorking(false);
    }
  };
  return (
    <Dialog title={editWords.removeTitle} onClose={onClose}>
      <p>
        <Name text={device.name} />
        {editWords.removeText}
      </p>
      <Faults id="remove-fault" sentences={fault ? [fault] : undefined} />
      <div class="actions">
        <span class="spread" />
        <button type="button" onClick={onClose}>
          {editWords.keep}
        </button>
        <button type="button" class="danger" disabled={isWorking} aria-busy={isWorking} onClick={() => void go()}>
          {editWords.remove}
        </button>
      </div>
    </Dialog>
  );
}
