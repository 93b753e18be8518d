PRAGMA user_version = 6;
BEGIN TRANSACTION;
CREATE TABLE device (
            id              INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
            name            TEXT NOT NULL,
            codename        TEXT NOT NULL,
            ssid            BLOB NOT NULL,
            last_attempt_us INTEGER NOT NULL,                   -- since the epoch; 0 = never
            last_success_us INTEGER NOT NULL,
            failure_code    TEXT,
            failure_message TEXT,
            adapter_mac     TEXT,                               -- NULL = no adapter used yet
            adapter_port    TEXT,
            adapter_serial  TEXT,
            sightings       TEXT NOT NULL, wanted INTEGER NOT NULL DEFAULT 0, auto_reconnect INTEGER NOT NULL DEFAULT 1, priority INTEGER NOT NULL DEFAULT 0, address TEXT NOT NULL DEFAULT '', failure_at_us INTEGER NOT NULL DEFAULT 0, last_disconnection_us INTEGER NOT NULL DEFAULT 0, waiting_since_us INTEGER NOT NULL DEFAULT 0, pin_mac TEXT NOT NULL DEFAULT '', pin_usb_port TEXT NOT NULL DEFAULT '',                      -- [[bssid, MHz], ...], newest first
            CHECK ((failure_code IS NULL) = (failure_message IS NULL)),
            CHECK ((adapter_mac IS NULL) = (adapter_port IS NULL)),
            CHECK ((adapter_mac IS NULL) = (adapter_serial IS NULL))
        ) STRICT
        ;
INSERT INTO "device" VALUES(1,'Front','insta360-x3',X'5833204142434445462E4F5343',1764000000000000,1764000001000000,NULL,NULL,'02:00:00:00:00:01','1-1.2','SN1','[["02:5c:30:a7:eb:0d", 2412], ["02:5c:30:a7:eb:0e", 5180]]',1,1,0,'10.77.0.1',0,0,0,'','');
INSERT INTO "device" VALUES(3,'Nose','gopro-hero12',X'FFFE',1764000005000000,0,'no-interface-available','no Wi-Fi interface is available',NULL,NULL,NULL,'[]',0,0,3,'10.77.0.3',1764000006000000,1763999999000000,1764000006000000,'','1-1.4');
CREATE TABLE idempotency_key (
            key       TEXT PRIMARY KEY,
            device_id INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID
        ;
INSERT INTO "idempotency_key" VALUES('key of Front',1);
INSERT INTO "idempotency_key" VALUES('key of Gone',2);
CREATE TABLE memory (
            key   TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        ;
INSERT INTO "memory" VALUES('simulated','{"links": {}}');
CREATE TABLE secret (
            device_id  INTEGER PRIMARY KEY REFERENCES device (id) ON DELETE CASCADE,
            passphrase BLOB NOT NULL
        ) STRICT
        ;
INSERT INTO "secret" VALUES(1,X'66726F6E742D706173732D31');
INSERT INTO "secret" VALUES(3,X'');
CREATE INDEX idempotency_key_age ON idempotency_key (device_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('device',3);
COMMIT;
