import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { MISSING, UNREADABLE, type Reading } from './reading.ts'
import { REVERSIBILITIES } from './reversibility.ts'
import { type Call, type Directory, type History, NO_HISTORY, type ToolContract } from './snapshot.ts'
import { type LocalTime, WEEKDAYS } from './time.ts'

/** The sources of all facts of one call. */
export interface Facts {
  readonly call: Call
  readonly tool: ToolContract
  readonly clock: (at: number) => LocalTime
  readonly directory: Directory
}

type Put = (call: Call, value: JsonValue) => Call

/**
 * All that Countersign knows about one fact. Check, lint, diff, backtest, the editor and the reference use this row.
 */
interface Row {
  /** Reads the fact of one call. Facts come from the call and the bundle, never from the payload. */
  readonly read: (facts: Facts) => Reading
  /** The possible values, as a JSON Schema. A limit cannot be `per` a list. */
  readonly schema: JsonObject
  /** Set when a call may lack the fact. */
  readonly optional?: true
  /** Set when a rule may name other values too, which no call or no tool of the bundle has yet. */
  readonly open?: true
  /** One sentence for the editor and the reference. */
  readonly doc: string
}

export interface FactOfCall extends Row {
  /** Returns the call with another value of the fact. `diff` and `backtest` build calls with it. */
  readonly put: Put
  /**
   * The place where `backtest` finds the value. `always`: every record has it. `with the decision`: a record has it
   * if a rule read it. `by the bundle`: the bundle that decides again has it. History comes from earlier records.
   */
  readonly recorded: 'always' | 'with the decision' | 'by the bundle' | 'as task history' | 'as agent history'
}
interface FactOfTime extends Row {
  readonly put: 'by the time'
  readonly recorded: 'always'
}
interface FactOfContract extends Row {
  readonly read: (facts: Pick<Facts, 'tool'>) => Reading
  readonly put: 'by the contract'
  readonly recorded: 'by the bundle'
}
export type Fact = FactOfCall | FactOfTime | FactOfContract

const TEXT: JsonObject = { type: 'string' }
const TEXTS: JsonObject = { type: 'array', items: TEXT }

const put =
  (name: 'agent' | 'tenant' | 'owners' | 'workflow' | 'label' | 'subject'): Put =>
  (call, value) => ({ ...call, [name]: value })

/** A string that the agent writes about its task. */
function claim(name: 'workflow' | 'label' | 'subject', doc: string): FactOfCall {
  return {
    read: ({ call }) => call[name] ?? MISSING,
    schema: TEXT,
    optional: true,
    put: put(name),
    recorded: 'with the decision',
    doc,
  }
}

/** Tools or labels of earlier calls. They may be any text, even if no tool of a bundle has it. */
function earlier(name: keyof History, recorded: FactOfCall['recorded'], doc: string): FactOfCall {
  return {
    // Without a history, tests of the history are UNKNOWN. An empty history is `[]`.
    read: ({ call }) => call.history?.[name] ?? UNREADABLE,
    schema: TEXTS,
    put: (call, value) => ({ ...call, history: { ...(call.history ?? NO_HISTORY), [name]: value } }),
    recorded,
    doc,
  }
}

function ofContract(row: Omit<FactOfContract, 'put' | 'recorded'>): FactOfContract {
  return { ...row, put: 'by the contract', recorded: 'by the bundle' }
}

function ofTime(name: keyof LocalTime, schema: JsonObject, doc: string): FactOfTime {
  return {
    read: ({ call, clock }) => clock(call.at)[name],
    schema,
    put: 'by the time',
    recorded: 'always',
    doc,
  }
}

/** The facts of the language, one row each. */
const ROWS = {
  'agent.id': {
    read: ({ call }) => call.agent,
    schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' },
    open: true,
    put: put('agent'),
    recorded: 'always',
    doc: 'The agent that proposes the call.',
  },
  'agent.tenant': {
    read: ({ call }) => call.tenant,
    schema: { type: 'string', pattern: '^[a-z0-9-]+$' },
    open: true,
    put: put('tenant'),
    recorded: 'always',
    doc: 'The tenant of the agent.',
  },
  'agent.owners': {
    read: ({ call, directory }: Facts) =>
      call.owners ?? directory.tenants.get(call.tenant)?.agents.get(call.agent)?.owners ?? UNREADABLE,
    schema: TEXTS,
    put: put('owners'),
    recorded: 'by the bundle',
    doc: 'The owners of the agent, in directory.yaml.',
  },
  'agent.tools': earlier(
    'agentTools',
    'as agent history',
    'Tools that the agent was allowed in the last 24 hours.',
  ),
  'agent.labels': earlier(
    'agentLabels',
    'as agent history',
    'Labels of the tools that the agent was allowed in the last 24 hours.',
  ),
  'tool.name': ofContract({
    read: ({ tool }) => tool.name,
    schema: TEXT,
    doc: 'The tool that is called.',
  }),
  'tool.labels': ofContract({
    read: ({ tool }) => tool.labels,
    schema: TEXTS,
    open: true,
    doc: 'The labels of its contract.',
  }),
  'tool.reversibility': ofContract({
    read: ({ tool }) => tool.reversibility ?? MISSING,
    schema: { enum: REVERSIBILITIES },
    optional: true,
    doc: 'The value in the contract.',
  }),
  'task.workflow': claim('workflow', 'What the agent says it is working on.'),
  'task.label': claim('label', 'What the agent calls its task.'),
  'task.subject': claim('subject', 'The person or system that the agent says it works for.'),
  'task.tools': earlier(
    'taskTools',
    'as task history',
    'Tools that were allowed or approved earlier in this task. It ends 90 days after the last call (`retention: { tasks }`).',
  ),
  'task.labels': earlier(
    'taskLabels',
    'as task history',
    'Labels of the tools that were allowed or approved earlier in this task. It ends as `task.tools` does.',
  ),
  'time.weekday': ofTime('weekday', { enum: WEEKDAYS }, 'In the time zone of routing.yaml.'),
  'time.hour': ofTime(
    'hour',
    { type: 'integer', minimum: 0, maximum: 23 },
    '0 to 23, in the time zone of routing.yaml.',
  ),
  'time.date': ofTime(
    'date',
    { type: 'string', format: 'date' },
    'A day such as 2027-01-31, in the time zone of routing.yaml.',
  ),
  'time.day': ofTime(
    'day',
    { type: 'integer', minimum: 1, maximum: 31 },
    'The day of the month, 1 to 31, in the time zone of routing.yaml.',
  ),
} satisfies Readonly<Record<string, Fact>>

export type FactName = keyof typeof ROWS
/** `payload`, or a fact. */
export type FieldRoot = 'payload' | FactName

export const FACTS: Readonly<Record<FactName, Fact>> = ROWS
export const FACT_NAMES = Object.keys(ROWS) as readonly FactName[]

/**
 * Returns the facts that a test of the bundle sets under `agent` or `task`, by their key: `owners` for `agent.owners`.
 * Every fact of the call counts.
 */
export function factsUnder(place: 'agent' | 'task'): ReadonlyMap<string, FactOfCall> {
  return new Map(
    FACT_NAMES.flatMap((name) => {
      const fact = FACTS[name]
      const [root, key = ''] = name.split('.')
      return root === place && isOfCall(fact) ? [[key, fact] as const] : []
    }),
  )
}

const isOfCall = (fact: Fact): fact is FactOfCall => typeof fact.put === 'function'

/** Returns the row of a field's root; undefined for the payload. */
export function factOf(root: FieldRoot): Fact | undefined {
  return root === 'payload' ? undefined : FACTS[root]
}

/** Returns true for a fact that cannot be the scope of a limit, because it is a list or the time. */
export function isNeverScope(root: FieldRoot): boolean {
  const fact = factOf(root)
  return fact !== undefined && (fact.schema['type'] === 'array' || fact.put === 'by the time')
}
