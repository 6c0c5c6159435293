import type { JsonObject } from '../contract/json.ts'

/**
 * What a harness, a program that runs a coding agent, says to a hook and takes for an answer. The same in all of them: exit code 2 with a reason on standard error
 * blocks the tool, and the model reads the reason; exit code 0 without output says nothing; every other code, and a hook that takes too long, lets the tool run.
 */
export interface Harness {
  readonly name: HarnessName
  /** Comes before a tool runs. */
  readonly event: string
  /** On standard output, with exit code 0: run it without asking anybody else. Undefined where there is no such answer. */
  readonly grant: JsonObject | undefined
  /** What the shell does when the hook did not end well, whatever became of it: missing, killed, or silent. */
  readonly otherwise: string
  /** What its settings must hold. */
  readonly settings: (command: string, timeoutSeconds: number) => JsonObject
}

export type HarnessName = 'claude-code' | 'codex' | 'gemini'

/** Exit code 2 without a word on standard error is no block in Codex, and none in Gemini CLI. */
const WITH_A_WORD = "{ echo 'countersign: the tool did not run' >&2; exit 2; }"

/** code.claude.com/docs/en/hooks: PreToolUse. `onFailure` is of version 2.1.295; those before leave alone what they do not know. */
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
 * developers.openai.com/codex/hooks: PreToolUse, and codex-rs/hooks of 0.169.0. It has no answer that spares its user the question: an allow is taken for a fault.
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

/** geminicli.com/docs/hooks/reference: BeforeTool. It comes when the CLI's own confirmation is over: there is nothing left to grant. */
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
