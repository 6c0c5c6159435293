import type { JsonObject } from '../contract/json.ts'

/**
 * What a harness, a program that runs a coding agent, says to a hook and takes for an answer. The same in all of them: exit code 2 blocks the tool and tells the
 * model what stands on standard error; exit code 0 without output says nothing; every other code, and a hook that takes too long, lets the tool run.
 */
export interface Harness {
  readonly name: HarnessName
  /** Comes before a tool runs. */
  readonly event: string
  /** On standard output, with exit code 0: run it without asking anybody else. Undefined where there is no such answer. */
  readonly grant: JsonObject | undefined
  /** What its settings must hold. */
  readonly settings: (command: string, timeoutSeconds: number) => JsonObject
}

export type HarnessName = 'claude-code' | 'gemini'

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
  settings: (command, timeout) => ({
    hooks: {
      PreToolUse: [{ matcher: '*', hooks: [{ type: 'command', command, timeout, onFailure: 'block' }] }],
    },
  }),
}

/** geminicli.com/docs/hooks/reference: BeforeTool. It comes when the CLI's own confirmation is over: there is nothing left to grant. */
const GEMINI: Harness = {
  name: 'gemini',
  event: 'BeforeTool',
  grant: undefined,
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
  gemini: GEMINI,
}
