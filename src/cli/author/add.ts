import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { SERVER_NAME } from '../../contract/tool-source.ts'
import type { BundleText } from '../../policy/bundle/check.ts'
import { prepareBundle } from '../../policy/bundle/load.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { LOCK_FILE } from '../../policy/bundle/lock.ts'
import { toolOfContract } from '../../policy/import/contract.ts'
import { payloadName } from '../../policy/language/fields.ts'
import { printDiagnostics } from '../../policy/report/diagnostics.ts'
import { TOOL_NAME } from '../../policy/yaml/shape.ts'
import { command } from '../terminal/command.ts'
import { CliFailure, EXIT, usage } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { usageOf } from '../terminal/usage.ts'
import { onOneLine } from '../terminal/visible-text.ts'
import { addAll } from './add-all.ts'
import { permissionTexts } from './add-agent.ts'
import { printFirstCall } from './add-call.ts'
import { describedTool, type SourceOptions, type ToolDescription, toolsOf } from './add-source.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { hasLock, replaceFile } from './fmt.ts'
import { reportNotes } from './import-report.ts'
import { writeNew } from './starter.ts'

const USUAL_AGENT = 'my-agent'

export const ADD = command({
  name: 'add',
  operands: 'tool [NAME] [-- COMMAND [ARGUMENT ...]]',
  says: `Adds a tool to a policy bundle: a contract with a typed schema, a rule that holds every call for a reviewer, and
    an agent that may use the tool. Give exactly one of --example, --openapi, --mcp, --tools and --python. If the new
    bundle would not load, it writes no file. While \`countersign dev\` runs in this folder, it also prints a first call
    in curl, TypeScript and Python. With --all or --update, it writes contracts only, for every tool of the source. It
    counts schema parts that a contract cannot express, and names the place of the first. Exits 4 if it left out a tool.`,
  flags: {
    example: { takes: 'JSON', says: 'one payload of the tool, as JSON or as the name of a file' },
    openapi: {
      takes: 'FILE',
      says: 'an OpenAPI 3 or Swagger 2.0 document, JSON or YAML (- for standard input)',
    },
    mcp: { says: 'an MCP server: the command after -- starts it, and it lists its tools' },
    tools: { takes: 'FILE', says: "an MCP server's answer to tools/list (- for standard input)" },
    python: {
      takes: 'MODULE:FUNCTION',
      says: 'a Python function. Python imports the module in this folder',
    },
    operation: { takes: 'ID', says: 'the operationId, or the name of the MCP tool (default: NAME)' },
    agent: {
      takes: 'NAME',
      says: `the agent (default: ${USUAL_AGENT}), or TENANT/NAME. A new agent is added to directory.yaml`,
    },
    server: { takes: 'NAME', says: 'the name of the MCP server, as in `countersign mcp --server`' },
    all: { says: 'every tool of the source, under its own name: contracts only' },
    prefix: { takes: 'TEXT', says: 'with --all: text in front of every tool name' },
    update: {
      says: 'as --all: shows how the tools differ from their contracts, and accepts the differences',
    },
    dir: { takes: 'DIR', default: DEFAULT_POLICIES, says: 'the bundle' },
  },
})

/** `countersign add tool`: one tool with its rule and an agent, or the contracts of all tools. */
export async function add(args: readonly string[]): Promise<void> {
  const { values, operands, program } = parse(ADD, args)
  const [, name] = operands
  const { dir, prefix = '', update, agent = USUAL_AGENT } = values
  const source = { ...values, command: program }
  refuseMixed(name, source)
  if (name === undefined) {
    const there = existsSync(dir) ? await textsOf(dir) : []
    return addAll((await toolsOf(source))({ prefix }), { dir, there, update })
  }
  if (!TOOL_NAME.pattern.test(name)) throw usage(`\`${name}\` is not a tool name: ${TOOL_NAME.hint ?? ''}`)
  const before = await textsOf(dir)
  refuseKnown(name, before)
  const described = await describedTool(name, source)
  reportNotes(described.notes)
  await addFiles(dir, before, { name, described, agent })
}

type Flags = ReturnType<typeof parse<typeof ADD>>['values']
type Given = Flags & Pick<SourceOptions, 'command'>

/** Refuses two sources, and flags that would have no effect. */
function refuseMixed(name: string | undefined, given: Given): void {
  const { example, openapi, mcp, tools, python, operation, server, update } = given
  const isAll = given.all || update
  const sources = [example, openapi, mcp || undefined, tools, python].filter((one) => one !== undefined)
  const others = isAll ? (['example', 'python', 'operation', 'agent'] as const) : (['prefix'] as const)
  const idle = others.find((flag) => given[flag] !== undefined)
  const refusals: readonly (readonly [boolean, string])[] = [
    [sources.length !== 1, 'give exactly one of --example, --openapi, --mcp, --tools and --python'],
    [mcp !== given.command.length > 0, '--mcp takes the command of the server behind --'],
    [(name !== undefined) === isAll, 'give NAME, or --all or --update for every tool of the source'],
    [idle !== undefined, `--${idle} ${isAll ? 'is for one tool' : 'needs --all'}`],
    [server !== undefined && !mcp && tools === undefined, '--server is for an MCP server'],
    [
      operation !== undefined && (example ?? python) !== undefined,
      '--operation is for a source of many tools',
    ],
    [!SERVER_NAME.test(server ?? 'mcp'), '--server must be up to 64 letters, digits, `_` and `-`'],
  ]
  const [, refusal] = refusals.find(([isRefused]) => isRefused) ?? []
  if (refusal !== undefined) throw usage(refusal, usageOf(ADD))
}

async function textsOf(dir: string): Promise<readonly BundleText[]> {
  const read = await readBundle(dir, { ignoreLock: true })
  if (read.ok) return read.texts
  throw new CliFailure(`\`${dir}\` is not a readable policy bundle`, {
    exit: EXIT.usage,
    hint: `${printDiagnostics(read.diagnostics)}\n\`countersign dev\` or \`countersign init\` writes a starter bundle`,
  })
}

function refuseKnown(name: string, texts: readonly BundleText[]): void {
  const contract = texts.find((file) => file.path.startsWith('tools/') && toolOfContract(file) === name)
  if (contract !== undefined)
    throw usage(
      `\`${name}\` has a contract already: ${contract.path}`,
      'choose another name, or edit that file',
    )
}

interface Added {
  readonly name: string
  readonly described: ToolDescription
  /** NAME or TENANT/NAME. */
  readonly agent: string
}

async function addFiles(
  dir: string,
  before: readonly BundleText[],
  { name, described, agent }: Added,
): Promise<void> {
  const { contract, sample, nullable = [] } = described
  const rules = { path: `rules/${basename(contract.path)}`, text: ruleText(name, sample, nullable) }
  if (before.some(({ path }) => path === rules.path || path === contract.path))
    throw usage(`\`${dir}\` has a file ${rules.path} or ${contract.path} already`, 'choose another tool name')
  const made = await firstThatLoads(
    permissionTexts(before, { agent, tool: name }).flatMap(({ directory, who }) =>
      [rules, { ...rules, text: ruleText(name, undefined, nullable) }].map((rule) => ({
        who,
        rule,
        directory,
        texts: [...before.filter(({ path }) => path !== directory.path), directory, contract, rule],
      })),
    ),
  )
  await writeNew(`${dir}/${contract.path}`, contract.text)
  await writeNew(`${dir}/${made.rule.path}`, made.rule.text)
  await replaceFile(dir, made.directory)
  for (const line of [
    `wrote ${dir}/${contract.path}: the schema of a call; read it, and set risk and reversibility`,
    `wrote ${dir}/${made.rule.path}: holds every call for a reviewer`,
    `changed ${dir}/directory.yaml: agent ${made.who.tenant}/${made.who.agent} may use ${name}`,
    ...(made.who.ownersMayVote
      ? [`the only reviewer owns ${made.who.agent}, and may vote on its calls`]
      : []),
  ])
    console.log(onOneLine(line))
  if (await hasLock(dir)) console.log(`${LOCK_FILE} no longer matches: run \`countersign lock\``)
  await printFirstCall({ ...made.who, tool: name, payload: sample })
}

/**
 * Returns the first bundle without errors.
 *
 * @throws CliFailure with the errors of the first bundle, when all have errors
 */
async function firstThatLoads<T extends { readonly texts: readonly BundleText[] }>(
  candidates: readonly T[],
): Promise<T> {
  let wrong: string | undefined
  for (const candidate of candidates) {
    const prepared = await prepareBundle(candidate.texts, { now: Date.now() })
    if (prepared.ok) return candidate
    wrong ??= printDiagnostics(prepared.diagnostics.filter(({ severity }) => severity === 'error'))
  }
  throw new CliFailure('nothing was written: the bundle would not load with the new tool', {
    exit: EXIT.doesNotCheck,
    hint: wrong,
  })
}

/** One rule without a condition. The rule has no test when no payload is known that fits the contract. */
function ruleText(tool: string, sample: object | undefined, nullable: readonly string[]): string {
  const id = `${tool.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}-held`
  const lines = [
    `tool: ${JSON.stringify(tool)}`,
    ...(nullable.length > 0 ? ['missing_means:'] : []),
    ...nullable.map((field) => `  ${JSON.stringify(payloadName([field]))}: nothing`),
    '',
    '# Holds every call. Add rules with `allow:` and a `when:` for calls that need no reviewer.',
    'rules:',
    `  - id: ${id}`,
    `    review: ${JSON.stringify(`Every call of ${tool} is reviewed.`)}`,
  ]
  if (sample !== undefined)
    lines.push(
      '',
      'tests:',
      '  - review: an example',
      `    payload: ${JSON.stringify(sample)}`,
      `    by: [${id}]`,
    )
  return `${lines.join('\n')}\n`
}
