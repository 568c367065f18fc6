CREATE TABLE batch (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    digest BLOB NOT NULL,
    role INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'frozen', 'answered', 'ended')),
    secret BLOB CHECK ((secret IS NULL) = (state = 'ended')),
    agreed_count INTEGER,
    agreed_digest TEXT,
    rejected INTEGER,
    noise BLOB,
    answer BLOB,
    erased INTEGER NOT NULL DEFAULT 0,
    checksum BLOB,
    sums BLOB,
    opened TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M UTC', 'now')),
    closed TEXT
) STRICT;

CREATE TABLE report (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    outside INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE half (position INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;

CREATE TABLE message (position INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;

CREATE TABLE sender (token BLOB PRIMARY KEY, reports INTEGER NOT NULL) STRICT;
