import { strictest, VERDICTS, type Verdict } from '../domain/decision.ts'
import { createConditionCompiler, truthOfNode, type ConditionCompiler } from './conditions.ts'
import { createEngineParts, createVerdictEngine, type EngineCall, type EngineParts } from './engine.ts'
import type { FieldIr, NodeIr, RuleFileIr, RuleIr } from './ir.ts'
import { FALSE, TRUE } from './kleene.ts'
import { compileFieldRead } from './reads.ts'
import type { CompiledRule, Facts, Hit, Run } from './run.ts'
import type { FieldRead, ToolContract } from './snapshot.ts'

/** Everything one tool needs to decide a call: compiled once, on its first use. */
export interface Program {
  readonly tool: ToolContract
  /** In id order. */
  readonly rules: readonly CompiledRule[]
  readonly byVerdict: Readonly<Record<Verdict, readonly CompiledRule[]>>
  readonly runEngine: (call: EngineCall) => Promise<Verdict | undefined>
  /** One per field its rules read, in code unit order. */
  readonly reads: readonly ((facts: Facts) => FieldRead)[]
}

/** What the programs of one bundle share. */
export interface ProgramParts {
  readonly conditions: ConditionCompiler
  readonly engine: EngineParts
}

export function createProgramParts(): ProgramParts {
  return { conditions: createConditionCompiler(), engine: createEngineParts() }
}

/** Compiles the rules of every file that applies to a tool. */
export function compileProgram(
  tool: ToolContract,
  files: readonly RuleFileIr[],
  parts: ProgramParts,
): Program {
  const rules = files.flatMap((file) => compileFile(tool, file, parts.conditions)).sort(byId)
  const byVerdict = {
    allow: rules.filter((rule) => rule.verdict === 'allow'),
    review: rules.filter((rule) => rule.verdict === 'review'),
    reject: rules.filter((rule) => rule.verdict === 'reject'),
  }
  const present = new Set(VERDICTS.filter((verdict) => byVerdict[verdict].length > 0))
  return {
    tool,
    rules,
    byVerdict,
    runEngine: createVerdictEngine(present, parts.engine),
    reads: compileReads(tool, rules),
  }
}

function compileFile(tool: ToolContract, file: RuleFileIr, conditions: ConditionCompiler): CompiledRule[] {
  const context = { tool, missingMeans: new Map(file.missingMeans.map((means) => [means.field, means])) }
  return file.rules.map((ir) => compileRule(ir, file, conditions.compile(context, ir.when, ir.unless)))
}

function compileRule(ir: RuleIr, file: RuleFileIr, condition: CompiledRule['condition']): CompiledRule {
  const { id, verdict, mode, reason, line } = ir
  const facts = { id, verdict, mode, reason, file: file.path, line }
  const hits: { onTrue: Hit | undefined; onUnknown: Hit | undefined } = {
    onTrue: undefined,
    onUnknown: undefined,
  }
  // What a decision reads stands here, not in the IR: a large bundle is read from memory that is not in any cache.
  const rule = Object.assign(hits, {
    verdict,
    enforced: mode === 'enforced',
    covers: !(file.catchAll && verdict === 'review'),
    risk: ir.risk,
    reviewers: ir.reviewers,
    untilMs: ir.untilMs ?? Number.POSITIVE_INFINITY,
    condition,
    ir,
    file,
  }) as CompiledRule
  hits.onTrue = { rule, fired: { ...facts, unknown: false } }
  hits.onUnknown = { rule, fired: { ...facts, unknown: true } }
  return rule
}

/** A fresh evaluation of one call by a program. Allow needs TRUE; review and reject fire unless FALSE. */
export function createRun(program: Program, facts: Omit<Facts, 'tool'>): Run {
  const { call, clock } = facts
  const hits: Hit[] = []
  const run: Run = {
    call,
    clock,
    tool: program.tool,
    hits,
    fire: (verdict) => recordHits(program.byVerdict[verdict], run),
  }
  return run
}

/** Records every rule that fires, shadow rules too; true when an enforced one did. */
function recordHits(rules: readonly CompiledRule[], run: Run): boolean {
  let hit = false
  for (const rule of rules) {
    if (isOver(rule, run.call.at)) continue
    const truth = truthOfNode(rule.condition, run)
    if (truth === FALSE || (truth !== TRUE && rule.verdict === 'allow')) continue
    run.hits.push(truth === TRUE ? rule.onTrue : rule.onUnknown)
    if (rule.enforced) hit = true
  }
  return hit
}

/** True past `until`, and for an instant that is no number. */
export function isOver(rule: Pick<CompiledRule, 'untilMs'>, at: number): boolean {
  return rule.untilMs !== Number.POSITIVE_INFINITY && !(at < rule.untilMs)
}

/** The strictest verdict among recorded enforced hits: what the engine's events must agree with. */
export function strictestHit(hits: readonly Hit[]): Verdict | undefined {
  let found: Verdict | undefined
  for (const { rule } of hits) {
    if (rule.enforced) found = found === undefined ? rule.verdict : strictest(found, rule.verdict)
  }
  return found
}

function compileReads(
  tool: ToolContract,
  rules: readonly CompiledRule[],
): readonly ((facts: Facts) => FieldRead)[] {
  const fields = new Map<string, FieldIr>()
  for (const { ir } of rules) {
    if (ir.when) collectFields(ir.when, fields)
    if (ir.unless) collectFields(ir.unless, fields)
  }
  return [...fields.values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((field) => compileFieldRead(tool, field))
}

function collectFields(node: NodeIr, found: Map<string, FieldIr>): void {
  if (node.kind === 'leaf') found.set(node.field.name, node.field)
  else if (node.kind === 'not') collectFields(node.item, found)
  else for (const item of node.items) collectFields(item, found)
}

function byId(a: CompiledRule, b: CompiledRule): number {
  return a.ir.id < b.ir.id ? -1 : a.ir.id > b.ir.id ? 1 : 0
}
