import type { JsonObject } from '../contract/json.ts'

/**
 * A program that runs a coding agent, with its input to a hook and the answers that it accepts. All harnesses share
 * this:
 *
 * - Exit code 2 with a reason on standard error blocks the tool, and the model reads the reason.
 * - Exit code 0 without output decides nothing.
 * - With any other code, or when the hook takes too long, the tool runs.
 */
export interface Harness {
  readonly name: HarnessName
  /** The event before a tool runs. */
  readonly event: string
  /** The answer on standard output, with exit code 0, that runs the tool without a further question. */
  readonly grant: JsonObject | undefined
  /** The shell command that runs when the hook is missing, was killed, or wrote nothing. */
  readonly otherwise: string
  /** The settings that the harness needs. */
  readonly settings: (command: string, timeoutSeconds: number) => JsonObject
}

export type HarnessName = 'claude-code' | 'codex' | 'gemini'

/** Codex and Gemini CLI do not block the tool on exit code 2 without text on standard error. */
const WITH_A_WORD = "{ echo 'countersign: the tool did not run' >&2; exit 2; }"

/** code.claude.com/docs/en/hooks: PreToolUse. Version 2.1.295 added `onFailure`; those before ignore it. */
const CLAUDE_CODE: Harness = {
  name: 'claude-code',
  event: 'PreToolUse',
  grant: {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'allow',
      permissionDecisionReason: 'let through by countersign',
    },
  },
  otherwise: 'exit 2',
  settings: (command, timeout) => ({
    hooks: {
      PreToolUse: [{ matcher: '*', hooks: [{ type: 'command', command, timeout, onFailure: 'block' }] }],
    },
  }),
}

/**
 * developers.openai.com/codex/hooks: PreToolUse, and codex-rs/hooks of 0.169.0. Codex treats an allow as an error, so
 * its user always answers the question.
 */
const CODEX: Harness = {
  name: 'codex',
  event: 'PreToolUse',
  grant: undefined,
  otherwise: WITH_A_WORD,
  settings: (command, timeout) => ({
    hooks: { PreToolUse: [{ matcher: '*', hooks: [{ type: 'command', command, timeout }] }] },
  }),
}

/**
 * geminicli.com/docs/hooks/reference: BeforeTool. The hook runs after the CLI's own confirmation, so a grant has no
 * effect.
 */
const GEMINI: Harness = {
  name: 'gemini',
  event: 'BeforeTool',
  grant: undefined,
  otherwise: WITH_A_WORD,
  settings: (command, timeout) => ({
    hooks: {
      BeforeTool: [
        {
          matcher: '.*',
          hooks: [{ type: 'command', name: 'countersign', command, timeout: timeout * 1_000 }],
        },
      ],
    },
  }),
}

export const HARNESSES: Readonly<Record<HarnessName, Harness>> = {
  'claude-code': CLAUDE_CODE,
  codex: CODEX,
  gemini: GEMINI,
}

/** The member of a shell command's input that names a folder below the harness's own. */
export const DIRECTORY: Readonly<Partial<Record<HarnessName, string>>> = { gemini: 'dir_path' }
