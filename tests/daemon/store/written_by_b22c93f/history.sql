PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE counter (next_id INTEGER NOT NULL) STRICT;
INSERT INTO "counter" VALUES(6);
CREATE TABLE history (
        id             INTEGER PRIMARY KEY,
        time_us        INTEGER NOT NULL,       -- since the epoch
        kind           TEXT NOT NULL,
        device_id      INTEGER,
        device_name    TEXT NOT NULL,
        interface      TEXT NOT NULL,
        code           TEXT NOT NULL,
        message        TEXT NOT NULL,
        ended_us       INTEGER NOT NULL,       -- 0 = has not ended, or cannot
        signal_minimum INTEGER,
        signal_mean    INTEGER,
        seen_us        INTEGER NOT NULL
    ) STRICT
    ;
INSERT INTO "history" VALUES(1,1763999991000000,'adapter',NULL,'','wlan0','plugged-in','The adapter wlan0 (Simulated 802.11ac adapter) was plugged in.',0,NULL,NULL,0);
INSERT INTO "history" VALUES(2,1763999992000000,'backend',NULL,'','','ready','simulated is ready.',0,NULL,NULL,0);
INSERT INTO "history" VALUES(3,1763999993000000,'session',3,'Nose','wlan1','connection-lost','the camera was switched off',1763999999000000,40,55,0);
INSERT INTO "history" VALUES(4,1764000001000000,'session',1,'Front','wlan0','','',0,60,70,1764000301000000);
INSERT INTO "history" VALUES(5,1764000006000000,'failure',3,'Nose','','no-interface-available','no Wi-Fi interface is available',0,NULL,NULL,0);
CREATE INDEX history_device ON history (device_id, id);
CREATE INDEX history_unended ON history (id) WHERE kind = 'session' AND ended_us = 0;
COMMIT;
