import { defined } from '../../contract/defined.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { longTextErrors } from '../../contract/long-texts.ts'
import { RISKS } from '../../domain/decision.ts'
import { groupsEver } from '../../domain/quorum.ts'
import { withReasons } from './because.ts'
import { evaluate } from './evaluate.ts'
import { explainOutcome } from './explain.ts'
import type { ExplainingSnapshot, LimitFacts } from './explanation.ts'
import type { BundleIr, RoutingIr, RuleFileIr, ToolIr } from '../language/rule.ts'
import { limitFacts } from './limits.ts'
import { createPayloadChecks, type PayloadChecks } from '../schema/payload.ts'
import { createPermits, refuseUnknownTool } from './permits.ts'
import { createHeadings } from '../summary/headings.ts'
import { compileProgram, createProgramParts, type Program } from './program.ts'
import type {
  Call,
  Directory,
  HistoryNeeds,
  NewerDirectory,
  Outcome,
  RuleSummary,
  ToolContract,
  Withdrawal,
} from '../language/snapshot.ts'
import { countWithdrawn, withdraw } from './withdraw.ts'
import { createClock, type LocalTime } from '../language/time.ts'
import { remember } from '../language/remember.ts'

/** A snapshot with the additions that the author's tools need. */
export interface CompiledSnapshot extends ExplainingSnapshot {
  readonly routing: RoutingIr
  /** Returns the local time of an instant. */
  readonly clock: (at: number) => LocalTime
  /** Returns the program that decides a tool's calls; undefined for a tool without a contract. */
  programOf(tool: string): Program | undefined
  /** Returns the same bundle without what the newer directory takes away. */
  without(newer: NewerDirectory): CompiledSnapshot
}

/**
 * Creates a snapshot of a checked bundle. This is cheap for a bundle of any size, because a tool's rules and schema are
 * compiled on the tool's first call.
 */
export function compileBundle(ir: BundleIr, checks: PayloadChecks = createPayloadChecks()): CompiledSnapshot {
  const { head } = ir
  const tools = new Map(ir.tools.map((tool) => [tool.contract.name, tool]))
  const contracts = new Map(ir.tools.map(({ contract }) => [contract.name, contract]))
  const tables = {
    routing: head.routing,
    clock: createClock(head.routing.timezone),
    directory: head.directory,
  }
  const programOf = createPrograms(ir, tools)
  const permits = createPermits(head.directory, contracts)
  checks.keep(new Set(ir.tools.map(({ contract }) => contract.revision)))

  // Neither this function nor `decide` is async, because each layer of promises costs every decision a microtask turn.
  function judge(call: Call): Promise<Outcome> {
    const program = programOf(call.tool)
    return program ? evaluate(program, tables, call) : Promise.resolve(refuseUnknownTool(call))
  }

  const inForce = (directory: Directory) => partInForce(directory, contracts, judge)

  let rules: readonly RuleSummary[] | undefined
  const whole: CompiledSnapshot = {
    ...describe(head),
    ...inForce(head.directory),
    tools: contracts,
    get rules() {
      return (rules ??= ir.ruleFiles.flatMap(rulesIn))
    },
    historyNeeds: (tool) => programOf(tool)?.history ?? NO_NEEDS,
    ruleText: (path, tenant) =>
      textOf(ir, path, (tool) => tenant === undefined || permits.knows(tenant, tool)),
    textsOf: (tenant) => (isAlone(tenant, head.directory) ? ir.texts : undefined),
    withReasons(call, fired) {
      const program = programOf(call.tool)
      return program ? withReasons(program, { call, ...tables }, fired) : fired
    },
    checkPayload(tool, payload) {
      const contract = contracts.get(tool)
      return contract ? checks.of(contract.revision, contract.inputSchema)(payload) : longTextErrors(payload)
    },
    ...createHeadings(ir, tools),
    judge,
    routing: head.routing,
    clock: tables.clock,
    programOf,
    limitsOf: (tool) => (tools.get(tool)?.ruleFiles ?? []).flatMap((file) => limitsIn(ir, file)),
    explainDenied: async (call) => explainOutcome(head.revision, await whole.decide(call), {}),
    explainUnknown: (call) => explainOutcome(head.revision, refuseUnknownTool(call), {}),
    async explain(call) {
      const program = programOf(call.tool)
      const facts = program && { ...tables, call, tool: program.tool }
      const outcome = await judge(call)
      // The explanation reads every rule again. It waits for its own event-loop turn, so that other calls run first.
      await nextTurn()
      return explainOutcome(head.revision, outcome, { program, ...(facts && { facts }) })
    },
    without: (newer) => withoutWithdrawn(whole, newer, inForce),
  }
  return whole
}

/** The members of a snapshot that depend on the people and agents in force. */
function partInForce(
  directory: Directory,
  contracts: ReadonlyMap<string, ToolContract>,
  judge: (call: Call) => Promise<Outcome>,
): Pick<CompiledSnapshot, 'directory' | 'agentOf' | 'useOf' | 'mayUse' | 'knows' | 'decide'> {
  const permits = createPermits(directory, contracts)
  return {
    directory,
    agentOf: (tenant, agent) => directory.tenants.get(tenant)?.agents.get(agent),
    useOf: (tenant, agent, tool) => permits.useOf(tenant, agent, tool),
    mayUse: (agent, tool) => agent !== undefined && permits.mayUse(agent, tool),
    knows: (tenant, tool) => permits.knows(tenant, tool),
    decide(call) {
      const refusal = permits.refusalOf(call)
      return refusal === undefined ? judge(call) : Promise.resolve(refusal)
    },
  }
}

/** The bundle without what the newer directory takes away. It shares the compiled rules of the whole bundle. */
function withoutWithdrawn(
  whole: CompiledSnapshot,
  { digest, directory: newer }: NewerDirectory,
  inForce: (directory: Directory) => ReturnType<typeof partInForce>,
): CompiledSnapshot {
  const directory = withdraw(whole.directory, newer)
  const reviewers = countWithdrawn(whole.directory, directory, 'reviewers')
  const agents = countWithdrawn(whole.directory, directory, 'agents')
  if (reviewers.withdrawn + agents.withdrawn === 0) return whole
  const withdrawal: Withdrawal = { digest, whole, reviewers, agents }
  return Object.assign(Object.create(whole) as CompiledSnapshot, inForce(directory), { withdrawal })
}

function describe({ revision, commit, files, diagnostics, directory, routing, ruleCount }: BundleIr['head']) {
  const { budgets, views, retention, keeps } = routing
  return {
    revision,
    ...defined({ commit }),
    files,
    diagnostics,
    directory,
    budgets,
    views,
    levelGroups: [...new Set(RISKS.flatMap((risk) => groupsEver(routing.levels[risk])))],
    retention,
    keeps,
    ruleCount,
  }
}

function rulesIn({ path: file, rules, limits }: RuleFileIr): RuleSummary[] {
  return [...rules, ...limits].map(({ id, verdict, mode, line }) => ({ id, verdict, mode, line, file }))
}

const NO_NEEDS: HistoryNeeds = { task: false, agent: false }

/** Returns the programs of the bundle's tools. Each program is compiled once, on first use. */
function createPrograms(
  ir: BundleIr,
  tools: ReadonlyMap<string, ToolIr>,
): (tool: string) => Program | undefined {
  const programs = new Map<string, Program>()
  const parts = createProgramParts()
  return (name) => {
    const tool = tools.get(name)
    const filesOf = ({ ruleFiles }: ToolIr) => ruleFiles.flatMap((index) => ir.ruleFiles[index] ?? [])
    return tool && remember(programs, name, () => compileProgram(tool.contract, filesOf(tool), parts))
  }
}

const isAlone = (tenant: string, { tenants }: BundleIr['head']['directory']): boolean =>
  tenants.size === 1 && tenants.has(tenant)

/** The text of a rule file that covers one of the tools. */
function textOf(
  { tools, ruleFiles, texts }: BundleIr,
  path: string,
  isKnown: (tool: string) => boolean,
): string | undefined {
  const at = ruleFiles.findIndex((file) => file.path === path)
  const covered = tools.filter((tool) => tool.ruleFiles.includes(at))
  const isCovered = covered.some(({ contract }) => isKnown(contract.name))
  return isCovered ? texts.find((file) => file.path === path)?.text : undefined
}

function limitsIn({ tools, ruleFiles }: BundleIr, file: number): LimitFacts[] {
  const under = tools.filter((tool) => tool.ruleFiles.includes(file))
  const sensitive = under.flatMap(({ contract }) => contract.sensitive)
  return (ruleFiles[file]?.limits ?? []).map((limit) => limitFacts(limit, sensitive))
}
