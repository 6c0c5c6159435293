import { strictest, VERDICTS, type Verdict } from '../domain/decision.ts'
import { compileCondition, compileFieldRead } from './conditions.ts'
import { createVerdictEngine, type VerdictOperator } from './engine.ts'
import type { FieldIr, NodeIr, RuleFileIr, RuleIr } from './ir.ts'
import { FALSE, TRUE } from './kleene.ts'
import type { CompiledRule, Hit, Run } from './run.ts'
import type { FieldRead, ToolContract } from './snapshot.ts'

/** Everything one tool needs to decide a call: compiled once, on its first use. */
export interface Program {
  readonly tool: ToolContract
  /** In id order. */
  readonly rules: readonly CompiledRule[]
  readonly runEngine: (run: Run) => Promise<Verdict | undefined>
  /** One per field its rules read, in code unit order. */
  readonly reads: readonly ((run: Run) => FieldRead)[]
}

/** Compiles the rules of every file that applies to a tool. */
export function compileProgram(tool: ToolContract, files: readonly RuleFileIr[]): Program {
  const rules = files.flatMap((file) => compileFile(tool, file)).sort(byId)
  return {
    tool,
    rules,
    runEngine: createVerdictEngine(compileOperators(rules)),
    reads: compileReads(tool, rules),
  }
}

function compileFile(tool: ToolContract, file: RuleFileIr): CompiledRule[] {
  const context = { tool, missingMeans: new Map(file.missingMeans.map((means) => [means.field, means])) }
  return file.rules.map((ir) =>
    compileRule({ ir, file, condition: compileCondition(context, ir.when, ir.unless) }),
  )
}

function compileRule(parts: Pick<CompiledRule, 'ir' | 'file' | 'condition'>): CompiledRule {
  const { ir, file } = parts
  const facts = {
    id: ir.id,
    verdict: ir.verdict,
    mode: ir.mode,
    reason: ir.reason,
    file: file.path,
    line: ir.line,
  }
  const onTrue = { fired: { ...facts, unknown: false } }
  const onUnknown = { fired: { ...facts, unknown: true } }
  const rule = { ...parts, onTrue: onTrue as Hit, onUnknown: onUnknown as Hit }
  Object.assign(onTrue, { rule })
  Object.assign(onUnknown, { rule })
  return rule
}

/** One operator per verdict that has a rule. Allow needs TRUE; review and reject fire unless FALSE. */
function compileOperators(rules: readonly CompiledRule[]): ReadonlyMap<Verdict, VerdictOperator<Run>> {
  const operators = new Map<Verdict, VerdictOperator<Run>>()
  for (const verdict of VERDICTS) {
    const own = rules.filter((rule) => rule.ir.verdict === verdict)
    if (own.length > 0) operators.set(verdict, (run) => recordHits(own, run))
  }
  return operators
}

/** Records every rule that fires, shadow rules too; true when an enforced one did. */
function recordHits(rules: readonly CompiledRule[], run: Run): boolean {
  let hit = false
  for (const rule of rules) {
    if (isOver(rule.ir, run.call.at)) continue
    const truth = rule.condition.truth(run)
    if (truth === FALSE || (truth !== TRUE && rule.ir.verdict === 'allow')) continue
    run.hits.push(truth === TRUE ? rule.onTrue : rule.onUnknown)
    hit ||= rule.ir.mode === 'enforced'
  }
  return hit
}

/** True past `until`, and for an instant that is no number. */
export function isOver(rule: RuleIr, at: number): boolean {
  return rule.untilMs !== undefined && !(at < rule.untilMs)
}

/** The strictest verdict among recorded enforced hits: what the engine's events must agree with. */
export function strictestHit(hits: readonly Hit[]): Verdict | undefined {
  let found: Verdict | undefined
  for (const { fired } of hits) {
    if (fired.mode === 'enforced')
      found = found === undefined ? fired.verdict : strictest(found, fired.verdict)
  }
  return found
}

function compileReads(
  tool: ToolContract,
  rules: readonly CompiledRule[],
): readonly ((run: Run) => FieldRead)[] {
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
