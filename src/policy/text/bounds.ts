/** The limits of a policy bundle, with their units. docs/policy-language.md prints them. */

export const MAX_FILE_BYTES = 512 * 1024
/** The maximum size of directory.yaml, which names all agents and reviewers and cannot be split. */
export const MAX_DIRECTORY_BYTES = 1024 * 1024
/** The maximum size of one list file, `lists/*.txt`. */
export const MAX_LIST_BYTES = 3 * 1024 * 1024
export const MAX_LIST_ENTRIES = 100_000
/** Contracts for the whole Kubernetes API take 11 MiB (docs/author-tools.md). */
export const MAX_BUNDLE_BYTES = 16 * 1024 * 1024
export const MAX_FILES = 5_000
/** The maximum size of countersign.lock, which has a digest and a path for each file. */
export const MAX_LOCK_BYTES = 2 * 1024 * 1024
/** Levels of folders below `tools/` and `rules/`. */
export const MAX_FOLDER_DEPTH = 4

export const MAX_YAML_DEPTH = 32
export const MAX_YAML_NODES = 100_000
export const MAX_DIRECTORY_NODES = 200_000

export const MAX_SCHEMA_BYTES = 512 * 1024
export const MAX_SCHEMA_NODES = 20_000
export const MAX_SCHEMA_DEPTH = 32
export const MAX_SCHEMA_BRANCHES = 256
export const MAX_ENUM_VALUES = 2_000
/** The number of sub-schemas that may apply to one value, with local references followed. */
export const MAX_SCHEMA_WEIGHT = 20_000

export const MAX_PATTERN_CHARACTERS = 1_000
/** The number of instructions in a compiled regular expression. */
export const MAX_PATTERN_PROGRAM = 1_000
/** The total number of instructions in all patterns of one tool, which cost the gateway about 70 ms once. */
export const MAX_TOOL_PATTERNS_PROGRAM = 50_000

/** The maximum length of a string that an SQL function reads. */
export const MAX_SQL_CHARACTERS = 20_000
/** The maximum length of a string that `shell_commands` reads. */
export const MAX_SHELL_CHARACTERS = 10_000

export const MAX_PAYLOAD_PROBLEMS = 20
/** The maximum number of characters of a field name that a message repeats. */
export const MAX_ECHOED_NAME = 64

export const MAX_REASON_CHARACTERS = 500
/** The maximum length of a contract's `summary`. */
export const MAX_SUMMARY_CHARACTERS = 300
export const MAX_SUMMARY_FIELDS = 12
/** 31 days, the longest duration that a bundle may specify, except for retention. */
export const MAX_DURATION_MS = 31 * 24 * 3_600_000
/** Ten years, the longest retention. */
export const MAX_RETENTION_MS = 3_660 * 24 * 3_600_000
export const MAX_APPROVALS = 20
/** The ready-made comments of a review level, one for each digit key. */
export const MAX_COMMENTS = 9
export const MAX_COMMENT_CHARACTERS = 200

export const DEFAULT_TOKEN_TTL_MS = 10 * 60_000
/** The maximum duration of one load in its child process. */
export const DEFAULT_LOAD_TIMEOUT_MS = 20_000
