// The texts of a camera's forms.

import { inLanguage } from "../messages";

const en = {
  title: (name: string) => `Edit ${name}`,
  save: "Save",
  reconnect: "Reconnect automatically",
  wake: "Wake automatically to connect",
  wakeHint: "At most three times an hour.",
  priority: "Priority",
  priorityHint: "If adapters are scarce, the camera with the higher number goes first.",
  network: "Network name",
  networkHint: "Takes effect the next time the camera connects.",
  newPassword: "New password (optional)",
  passwordTitle: (name: string) => `Change the password of ${name}`,
  passwordLabel: "Camera's Wi-Fi password",
  passwordSave: "Save and connect",
  removeTitle: "Remove the camera?",
  removeText: " will be disconnected, and removed together with its password.",
  keep: "Keep",
  remove: "Remove",
};

export const editWords = inLanguage({ en });
