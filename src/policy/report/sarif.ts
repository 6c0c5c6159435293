import { DIAGNOSTIC_CODES, type Diagnostic, type DiagnosticCode } from './diagnostics.ts'

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json'

/** The context of the findings in a SARIF log. */
export interface SarifContext {
  /** The bundle's directory in the repository, for example `policies`; empty for the root. */
  readonly root: string
  /** Version of Countersign. */
  readonly version: string
}

/** Prints findings as a SARIF 2.1.0 log (OASIS). Ends with a newline. */
export function printDiagnosticsSarif(found: readonly Diagnostic[], context: SarifContext): string {
  const codes = [...new Set(found.map((one) => one.code))].sort()
  const driver = { name: 'Countersign', semanticVersion: context.version, rules: codes.map(describeRule) }
  const results = found.map((one) => describeResult(one, codes.indexOf(one.code), context))
  const run = { tool: { driver }, columnKind: 'utf16CodeUnits', results }
  return `${JSON.stringify({ $schema: SCHEMA, version: '2.1.0', runs: [run] }, null, 2)}\n`
}

function describeRule(code: string): object {
  const title = code.replaceAll('-', ' ')
  return {
    id: code,
    shortDescription: { text: `${title.charAt(0).toUpperCase()}${title.slice(1)}` },
    help: { text: `See the entry \`${code}\` in docs/diagnostics.md.` },
    defaultConfiguration: { level: DIAGNOSTIC_CODES[code as DiagnosticCode] },
  }
}

function describeResult(one: Diagnostic, ruleIndex: number, { root }: SarifContext): object {
  const { code, severity, file, line, column, message, hint, excerpt, width = 1 } = one
  const path = root === '' ? file : `${root}/${file}`
  const region = {
    startLine: line,
    startColumn: column,
    endLine: line,
    endColumn: column + width,
    ...(excerpt === undefined ? {} : { snippet: { text: excerpt.slice(column - 1, column - 1 + width) } }),
  }
  const artifactLocation = { uri: path.split('/').map(encodeURIComponent).join('/'), uriBaseId: '%SRCROOT%' }
  return {
    ruleId: code,
    ruleIndex,
    level: severity,
    message: { text: hint === undefined ? message : `${message}\nhint: ${hint}` },
    locations: [{ physicalLocation: { artifactLocation, region } }],
  }
}
