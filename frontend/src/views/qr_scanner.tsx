// The QR code of a camera, read by this device's own camera: where the browser can, and may, which needs HTTPS or localhost.

import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../messages";

/** https://wicg.github.io/shape-detection-api/#barcode-detection-api */
interface Detector {
  detect(source: HTMLVideoElement): Promise<{ rawValue: string }[]>;
}

type DetectorClass = new (options: { formats: string[] }) => Detector;

const PAUSE_MS = 200;

const detectorClass = (): DetectorClass | undefined => (window as { BarcodeDetector?: DetectorClass }).BarcodeDetector;

export const canScan = (): boolean => isSecureContext && detectorClass() !== undefined && Boolean(navigator.mediaDevices?.getUserMedia);

/** What this camera sees, until it sees a text that is wanted. */
export function QrScanner({ onText, onEnd }: { onText: (text: string) => boolean; onEnd: () => void }) {
  const video = useRef<HTMLVideoElement>(null);
  const [fault, setFault] = useState("");
  useEffect(() => {
    let isOver = false;
    let stream: MediaStream | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const begin = async () => {
      const Class = detectorClass();
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
      if (isOver || !video.current || !Class) return stop();
      video.current.srcObject = stream;
      await video.current.play();
      const detector = new Class({ formats: ["qr_code"] });
      const look = async () => {
        const found = video.current ? await detector.detect(video.current).catch(() => []) : [];
        if (isOver) return;
        if (found.some(({ rawValue }) => onText(rawValue))) onEnd();
        else timer = setTimeout(() => void look(), PAUSE_MS);
      };
      void look();
    };
    const stop = () => stream?.getTracks().forEach((one) => one.stop());
    begin().catch(() => setFault(t.add.noCamera));
    return () => {
      isOver = true;
      clearTimeout(timer);
      stop();
    };
  }, []);
  return (
    <div class="scanner">
      {fault ? <p class="fault">{fault}</p> : <video ref={video} muted playsInline aria-label={t.add.scanning} />}
      <button type="button" onClick={onEnd}>
        {t.hub.cancel}
      </button>
    </div>
  );
}
