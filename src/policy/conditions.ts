import type { JsonObject, JsonValue } from '../contract/json.ts'
import { describeTest, describeUnknown } from './describe.ts'
import { fieldText, MISSING, UNREADABLE, walk, type Defaults, type Reading } from './fields.ts'
import { applyFunction, type Applied } from './functions.ts'
import type { FieldIr, MissingMeans, NodeIr, TestIr } from './ir.ts'
import { and, FALSE, not, or, TRUE, UNKNOWN, type Truth } from './kleene.ts'
import type { Condition, LeafTrace, Run, Trace } from './run.ts'
import { schemaDefaults } from './schema-defaults.ts'
import { isSensitive } from './sensitive.ts'
import type { FieldRead, ToolContract } from './snapshot.ts'
import { asksPresence, compileTest } from './tests.ts'

/** What a rule file's conditions are compiled against: one tool, and what the file says about missing fields. */
export interface ConditionContext {
  readonly tool: ToolContract
  readonly missingMeans: ReadonlyMap<string, MissingMeans>
}

export const ALWAYS: Condition = { truth: () => TRUE, trace: () => ({ kind: 'all', truth: TRUE, items: [] }) }

/** `when AND NOT unless`. */
export function compileCondition(
  context: ConditionContext,
  when: NodeIr | undefined,
  unless: NodeIr | undefined,
): Condition {
  const parts: Condition[] = []
  if (when) parts.push(compileNode(context, when))
  if (unless) parts.push(negate(compileNode(context, unless)))
  return conjoin(parts)
}

function compileNode(context: ConditionContext, node: NodeIr): Condition {
  switch (node.kind) {
    case 'all':
      return conjoin(node.items.map((item) => compileNode(context, item)))
    case 'any':
      return disjoin(node.items.map((item) => compileNode(context, item)))
    case 'not':
      return negate(compileNode(context, node.item))
    case 'leaf':
      return compileLeaf(context, node.field, node.test)
  }
}

function conjoin(parts: readonly Condition[]): Condition {
  if (parts.length === 0) return ALWAYS
  if (parts.length === 1 && parts[0]) return parts[0]
  return {
    truth: (run) => {
      let truth: Truth = TRUE
      for (const part of parts) {
        truth = and(truth, part.truth(run))
        if (truth === FALSE) return FALSE
      }
      return truth
    },
    trace: (run) => traceAll('all', parts, run),
  }
}

function disjoin(parts: readonly Condition[]): Condition {
  return {
    truth: (run) => {
      let truth: Truth = FALSE
      for (const part of parts) {
        truth = or(truth, part.truth(run))
        if (truth === TRUE) return TRUE
      }
      return truth
    },
    trace: (run) => traceAll('any', parts, run),
  }
}

function negate(part: Condition): Condition {
  return {
    truth: (run) => not(part.truth(run)),
    trace: (run) => {
      const item = part.trace(run)
      return { kind: 'not', truth: not(item.truth), items: [item] }
    },
  }
}

function traceAll(kind: 'all' | 'any', parts: readonly Condition[], run: Run): Trace {
  const items = parts.map((part) => part.trace(run))
  const truth = items
    .map((item) => item.truth)
    .reduce<Truth>(kind === 'all' ? and : or, kind === 'all' ? TRUE : FALSE)
  return { kind, truth, items }
}

function compileLeaf(context: ConditionContext, field: FieldIr, test: TestIr): Condition {
  // Each part decides for itself what a missing field means to it.
  if (test.op === 'and') return conjoin(test.tests.map((one) => compileLeaf(context, field, one)))
  const raw = compileRead(field)
  const resolve = asksPresence(test) ? raw : compileStandIn(context, field, raw)
  const { fn } = field
  const value = (run: Run): Applied | typeof NOTHING => {
    const found = resolve(run)
    return fn === undefined || found === NOTHING ? found : applyFunction(fn, found)
  }
  const check = compileTest(test)
  const truth = (run: Run): Truth => {
    const found = value(run)
    return found === NOTHING ? FALSE : check(found)
  }
  const read = compileFieldRead(context.tool, field)
  return {
    truth,
    trace: (run) => traceLeaf({ field, test, truth: truth(run), value: value(run), read: read(run) }),
  }
}

function traceLeaf(leaf: {
  readonly field: FieldIr
  readonly test: TestIr
  readonly truth: Truth
  readonly value: Applied | typeof NOTHING
  readonly read: FieldRead
}): LeafTrace {
  const { field, test, truth, value, read } = leaf
  const trace = { kind: 'leaf', truth, field: fieldText(field), test: describeTest(test), read } as const
  return truth === UNKNOWN && value !== NOTHING ? { ...trace, problem: describeUnknown(test, value) } : trace
}

/** `missing_means: nothing`: every value test is FALSE. */
const NOTHING = Symbol('nothing')

/** The field with what stands in for it when it is missing: `missing_means` first, then the contract's defaults. */
function compileStandIn(
  { tool, missingMeans }: ConditionContext,
  field: FieldIr,
  raw: (run: Run) => Reading,
): (run: Run) => Reading | typeof NOTHING {
  const means = missingMeans.get(field.name)
  if (means) {
    const standIn = means.value === undefined ? NOTHING : means.value
    return (run) => {
      const found = raw(run)
      return found === MISSING ? standIn : found
    }
  }
  const defaults: Defaults | undefined =
    field.root === 'payload' ? schemaDefaults(tool.inputSchema, field.path) : undefined
  if (!defaults) return raw
  return (run) => walk(run.call.payload, field.path, defaults)
}

/** The field as the call has it. Trusted facts come from the call's own members, never from the payload. */
export function compileRead(field: FieldIr): (run: Run) => Reading {
  switch (field.root) {
    case 'payload':
      return compilePayloadRead(field.path)
    case 'agent.id':
      return (run) => run.call.agent
    case 'agent.tenant':
      return (run) => run.call.tenant
    case 'tool.name':
      return (run) => run.tool.name
    case 'tool.labels':
      return (run) => run.tool.labels
    case 'tool.reversibility':
      return (run) => run.tool.reversibility ?? MISSING
    case 'task.workflow':
      return (run) => run.call.workflow ?? MISSING
    case 'task.label':
      return (run) => run.call.label ?? MISSING
    case 'task.subject':
      return (run) => run.call.subject ?? MISSING
    case 'time.weekday':
      return (run) => run.clock(run.call.at).weekday
    case 'time.hour':
      return (run) => run.clock(run.call.at).hour
  }
}

function compilePayloadRead(path: readonly (string | number)[]): (run: Run) => Reading {
  const [first] = path
  if (path.length !== 1 || typeof first !== 'string') return (run) => walk(run.call.payload, path)
  return (run) => {
    const payload: JsonObject = run.call.payload
    const value: JsonValue | undefined = Object.hasOwn(payload, first) ? payload[first] : undefined
    return value === undefined ? MISSING : value === null ? UNREADABLE : value
  }
}

/** The field as it is recorded with a decision. What is there and unreadable is recorded as null: it reads the same again. */
export function compileFieldRead(tool: ToolContract, field: FieldIr): (run: Run) => FieldRead {
  const raw = compileRead(field)
  const sensitive = isSensitive(tool.sensitive, field.name)
  const missing: FieldRead = { field: field.name, state: 'missing', sensitive }
  return (run) => {
    const value = raw(run)
    if (value === MISSING) return missing
    return { field: field.name, state: 'value', value: value === UNREADABLE ? null : value, sensitive }
  }
}
