// What can be changed of a camera: a dialog each.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { change, connect, Problem, remove } from "../api";
import type { Device } from "../types";
import type { FieldFaults } from "./add_camera";
import { Dialog, Faults, Name } from "./parts";

interface FormProps {
  device: Device;
  onClose: () => void;
}

/** Save what a form says; what is wrong with it stands under `all` where no field of it is to blame. */
function useSaving(fields: readonly string[], onClose: () => void) {
  const [faults, setFaults] = useState<FieldFaults>({});
  const [isSaving, setSaving] = useState(false);
  const save = async (id: number, body: unknown) => {
    setSaving(true);
    try {
      await change(id, body);
      onClose();
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
  id: string;
  faults: FieldFaults;
  isSaving: boolean;
  saving: string;
  onSubmit: (event: Event) => void;
  onClose: () => void;
  children: ComponentChildren;
}

/** A dialog with fields, what is wrong with them (under the element `id`), and the buttons. */
function SavingForm({ title, id, faults, isSaving, saving, onSubmit, onClose, children }: SavingFormProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={onSubmit}>
        {children}
        <Faults id={id} sentences={Object.values(faults).flat()} />
        <div class="actions">
          <span class="spread" />
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isSaving}>
            {saving}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function Edit({ device, onClose }: FormProps) {
  const [name, setName] = useState(device.name);
  const [isReconnecting, setReconnecting] = useState(device.auto_reconnect);
  const [priority, setPriority] = useState(String(device.priority));
  const { faults, isSaving, save } = useSaving(["name", "priority"], onClose);
  const submit = (event: Event) => {
    event.preventDefault();
    // Only what was changed here: another person may be changing the rest.
    const body = {
      ...(name === device.name ? {} : { name }),
      ...(isReconnecting === device.auto_reconnect ? {} : { auto_reconnect: isReconnecting }),
      ...(Number(priority) === device.priority ? {} : { priority: Number(priority) }),
    };
    void save(device.id, body);
  };
  return (
    <SavingForm
      title="Edit the camera"
      id="edit-fault"
      saving="Save"
      onSubmit={submit}
      {...{ faults, isSaving, onClose }}
    >
      <label>
        Name
        <input
          type="text"
          autocomplete="off"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          aria-invalid={Boolean(faults.name)}
          aria-describedby="edit-fault"
        />
      </label>
      <label class="check">
        <input type="checkbox" checked={isReconnecting} onChange={(event) => setReconnecting(event.currentTarget.checked)} />
        Connect it again by itself when it was lost
      </label>
      <label>
        Priority
        <input
          type="number"
          min="-1000"
          max="1000"
          step="1"
          required
          value={priority}
          onInput={(event) => setPriority(event.currentTarget.value)}
          aria-invalid={Boolean(faults.priority)}
          aria-describedby="edit-fault"
        />
        <small>Where more cameras are lost than adapters are free, the higher goes first.</small>
      </label>
    </SavingForm>
  );
}

export function Password({ device, onClose }: FormProps) {
  const [password, setPassword] = useState("");
  const { faults, isSaving, save } = useSaving(["password"], onClose);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (await save(device.id, { connection_settings: { password } })) {
      connect(device.id).catch(() => undefined); // the channel tells what becomes of it
    }
  };
  return (
    <SavingForm
      title="Change the password"
      id="password-fault"
      saving="Save and connect"
      onSubmit={(event) => void submit(event)}
      {...{ faults, isSaving, onClose }}
    >
      <label>
        Wi-Fi password of the camera
        <input
          type="password"
          autocomplete="off"
          value={password}
          onInput={(event) => setPassword(event.currentTarget.value)}
          aria-invalid={Boolean(faults.password)}
          aria-describedby="password-fault"
        />
      </label>
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
    } catch (error) {
      setFault(error instanceof Problem ? error.message : "");
      setWorking(false);
    }
  };
  return (
    <Dialog title="Remove the camera?" onClose={onClose}>
      <p>
        <Name text={device.name} /> will be disconnected and forgotten, its password too.
      </p>
      <Faults id="remove-fault" sentences={fault ? [fault] : undefined} />
      <div class="actions">
        <span class="spread" />
        <button type="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="danger" disabled={isWorking} onClick={() => void go()}>
          Remove
        </button>
      </div>
    </Dialog>
  );
}
