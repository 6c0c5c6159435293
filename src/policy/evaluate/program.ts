import { strictest, type Verdict } from '../../domain/decision.ts'
import {
  createConditionCompiler,
  leavesOf,
  type ConditionCompiler,
  type LeafNode,
  compileFieldRead,
} from './conditions.ts'
import { createVerdictEngines, type RunEngine, type VerdictEngines } from './engine.ts'
import type { Test } from '../language/operators.ts'
import type { FieldIr, RuleFileIr, RuleIr } from '../language/rule.ts'
import { compileLimit } from './limits.ts'
import { createWhenMissing } from '../schema/when-missing.ts'
import { createPlan, recordHits, type Plan } from './plan.ts'
import { factOf, type Fact, type Facts } from '../language/facts.ts'
import { type CompiledLimit, type CompiledRule, type Hit, type Run, withHits } from './run.ts'
import { disclosureOf } from '../language/disclose.ts'
import { isFieldProblem, parseField } from '../language/fields.ts'
import { isSensitive } from '../language/sensitive.ts'
import type { FieldRead, HistoryNeeds, ToolContract } from '../language/snapshot.ts'
import { remember } from '../language/remember.ts'

/** The compiled rules and limits of one tool. Compiled once, on first use. */
export interface Program {
  readonly tool: ToolContract
  /** In id order. */
  readonly rules: readonly CompiledRule[]
  readonly limits: readonly CompiledLimit[]
  /** The fields that rules and limits read, by name. */
  readonly fields: ReadonlyMap<string, FieldIr>
  readonly plans: Readonly<Record<Verdict, Plan>>
  readonly runEngine: RunEngine
  /** One reader for each field, in code unit order of the field names. */
  readonly reads: readonly ((facts: Facts) => FieldRead)[]
  readonly history: HistoryNeeds
}

/** The parts that the programs of one bundle share. */
export interface ProgramParts {
  readonly conditions: ConditionCompiler
  readonly engines: VerdictEngines
  /** Readers by sensitivity and field. */
  readonly reads: Map<string, (facts: Facts) => FieldRead>
}

export function createProgramParts(): ProgramParts {
  return { conditions: createConditionCompiler(), engines: createVerdictEngines(), reads: new Map() }
}

/** Compiles the rules of every file that applies to a tool. */
export function compileProgram(
  tool: ToolContract,
  files: readonly RuleFileIr[],
  parts: ProgramParts,
): Program {
  const rules = files.flatMap((file) => compileRules(tool, file, parts.conditions)).sort(byId)
  const limits = files.flatMap((file) => compileLimits(tool, file, parts.conditions))
  const fields = fieldsOf(rules, limits)
  const { leaves } = parts.conditions
  const planOf = (verdict: Verdict): Plan =>
    createPlan(
      rules.filter((rule) => verdictsOf(rule).includes(verdict)),
      { verdict, leaves },
    )
  const present = new Set(rules.flatMap(verdictsOf))
  return {
    tool,
    rules,
    limits,
    fields,
    plans: { allow: planOf('allow'), review: planOf('review'), reject: planOf('reject') },
    runEngine: parts.engines.of(present),
    reads: compileReads(tool, fields, parts.reads),
    history: {
      task: reads(fields, 'as task history'),
      agent: reads(fields, 'as agent history'),
    },
  }
}

/** Returns the rules of a file for one tool, in the order of the file. */
export function compileRules(
  tool: ToolContract,
  file: RuleFileIr,
  conditions: ConditionCompiler,
): CompiledRule[] {
  const missing = createWhenMissing(tool, file)
  return file.rules.map((ir) => compileRule(ir, file, conditions.compile(missing, ir.when, ir.unless)))
}

function compileLimits(
  tool: ToolContract,
  file: RuleFileIr,
  conditions: ConditionCompiler,
): readonly CompiledLimit[] {
  const missing = createWhenMissing(tool, file)
  const leafOf = (field: FieldIr | undefined, test: Test): LeafNode | undefined =>
    field && conditions.leaf(missing, field, test)
  return file.limits.map((ir) =>
    compileLimit(ir, file, {
      sum: leafOf(ir.sum, { op: 'at_least', value: 0 }),
      per: leafOf(typeof ir.per === 'string' ? undefined : ir.per, { op: 'is', values: [] }),
    }),
  )
}

function compileRule(ir: RuleIr, file: RuleFileIr, condition: CompiledRule['condition']): CompiledRule {
  const { id, verdict, mode, reason, line, unknown } = ir
  const facts = { id, verdict, mode, reason, file: file.path, line }
  return withHits<CompiledRule>(
    {
      verdict,
      enforced: mode === 'enforced',
      covers: !(file.catchAll && verdict === 'review'),
      risk: ir.risk,
      reviewers: ir.reviewers,
      fromMs: ir.fromMs,
      untilMs: ir.untilMs,
      condition,
      ir,
      file,
    },
    { facts, unknown },
  )
}

const verdictsOf = ({ verdict, onUnknown }: CompiledRule): readonly Verdict[] => [
  verdict,
  onUnknown.rule.verdict,
]

/** Returns a new run of a program for one call. */
export function createRun(program: Program, facts: Omit<Facts, 'tool'>): Run {
  const { call, clock, directory } = facts
  const hits: Hit[] = []
  const run: Run = {
    call,
    clock,
    directory,
    tool: program.tool,
    hits,
    fire: (verdict) => recordHits(program.plans[verdict], run),
  }
  return run
}

/** Returns the strictest verdict among enforced hits. The engine's events must agree with this verdict. */
export function strictestHit(hits: readonly Hit[]): Verdict | undefined {
  let found: Verdict | undefined
  for (const { rule } of hits) {
    if (rule.enforced) found = found === undefined ? rule.verdict : strictest(found, rule.verdict)
  }
  return found
}

function fieldsOf(
  rules: readonly CompiledRule[],
  limits: readonly CompiledLimit[],
): ReadonlyMap<string, FieldIr> {
  const fields = new Map<string, FieldIr>()
  for (const { condition } of rules)
    for (const { field } of leavesOf(condition)) fields.set(field.name, field)
  for (const { sum, per } of limits) {
    if (sum) fields.set(sum.field.name, sum.field)
    if (per) fields.set(per.field.name, per.field)
  }
  return fields
}

function reads(fields: ReadonlyMap<string, FieldIr>, recorded: Fact['recorded']): boolean {
  return [...fields.values()].some(({ root }) => factOf(root)?.recorded === recorded)
}

function compileReads(
  tool: ToolContract,
  fields: ReadonlyMap<string, FieldIr>,
  shared: ProgramParts['reads'],
): readonly ((facts: Facts) => FieldRead)[] {
  return [...new Map([...fields, ...disclosedFields(tool)]).values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((field) => {
      const sensitive = isSensitive(tool.sensitive, field.name)
      const disclose = disclosureOf(tool, field.name)
      return remember(shared, `${sensitive} ${disclose} ${field.name}`, () =>
        compileFieldRead(field, sensitive, disclose),
      )
    })
}

/** Fields that evidence keeps although no rule reads them. */
function disclosedFields({ disclose = {} }: ToolContract): readonly (readonly [name: string, FieldIr])[] {
  return Object.entries(disclose).flatMap(([name, level]) => {
    const field = level === 'full' ? parseField(name) : undefined
    return field === undefined || isFieldProblem(field) ? [] : [[name, field] as const]
  })
}

function byId(a: CompiledRule, b: CompiledRule): number {
  return a.ir.id < b.ir.id ? -1 : a.ir.id > b.ir.id ? 1 : 0
}
