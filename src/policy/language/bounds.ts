/** The limits of a policy bundle, with their units. Printed in docs/policy-language.md. */

export const MAX_FILE_BYTES = 512 * 1024
/** For directory.yaml, which names all agents and reviewers and cannot be split. */
export const MAX_DIRECTORY_BYTES = 1024 * 1024
/** For one list file, `lists/*.txt`. */
export const MAX_LIST_BYTES = 3 * 1024 * 1024
export const MAX_LIST_ENTRIES = 100_000
/** Contracts of the whole Kubernetes API take 11 MiB (docs/author-tools.md). */
export const MAX_BUNDLE_BYTES = 16 * 1024 * 1024
export const MAX_FILES = 5_000
/** For countersign.lock, with a digest and a path for each file. */
export const MAX_LOCK_BYTES = 2 * 1024 * 1024
/** Folders below `tools/` and `rules/`. */
export const MAX_FOLDER_DEPTH = 4

export const MAX_YAML_DEPTH = 32
export const MAX_YAML_NODES = 100_000
export const MAX_DIRECTORY_NODES = 200_000

export const MAX_SCHEMA_BYTES = 512 * 1024
export const MAX_SCHEMA_NODES = 20_000
export const MAX_SCHEMA_DEPTH = 32
export const MAX_SCHEMA_BRANCHES = 256
export const MAX_ENUM_VALUES = 2_000
/** Sub-schemas that one value may have to pass, with local references followed. */
export const MAX_SCHEMA_WEIGHT = 20_000

export const MAX_PATTERN_CHARACTERS = 1_000
/** Instructions of a compiled regular expression. */
export const MAX_PATTERN_PROGRAM = 1_000
/** Instructions of all patterns of one tool together: about 70 ms of the gateway's time, once. */
export const MAX_TOOL_PATTERNS_PROGRAM = 50_000

/** For a text that an SQL function reads. */
export const MAX_SQL_CHARACTERS = 20_000

export const MAX_PAYLOAD_PROBLEMS = 20
/** Characters of a field name that a message repeats. */
export const MAX_ECHOED_NAME = 64

export const MAX_REASON_CHARACTERS = 500
/** For a contract's `summary`. */
export const MAX_SUMMARY_CHARACTERS = 300
export const MAX_SUMMARY_FIELDS = 12
/** 31 days: the longest duration a bundle may name. */
export const MAX_DURATION_MS = 31 * 24 * 3_600_000
export const MAX_APPROVALS = 20

export const DEFAULT_TOKEN_TTL_MS = 10 * 60_000
/** Wall time of one load in its child process. */
export const DEFAULT_LOAD_TIMEOUT_MS = 20_000
