import { WriteStream } from 'node:tty'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { wantsColor } from '../../../src/cli/author/check.ts'
import { printDiagnosticsGithub } from '../../../src/policy/report/github.ts'
import { printDiagnosticsSarif } from '../../../src/policy/report/sarif.ts'
import { printDiagnostics, type Diagnostic } from '../../../src/policy/report/diagnostics.ts'
import { pay } from '../cases.ts'
import { bundle, diagnose } from '../support.ts'

const ERROR: Diagnostic = {
  code: 'literal-enum',
  severity: 'error',
  file: 'rules/a b,c:d.yaml',
  line: 5,
  column: 11,
  message: '100% of `x`\r\n::warning::never',
  hint: 'did you mean `y`?',
  excerpt: '    when: xyz',
  width: 3,
}
const WARNING: Diagnostic = {
  code: 'near-duplicate-label',
  severity: 'warning',
  file: 'tools/x.yaml',
  line: 1,
  column: 1,
  message: 'almost',
}

describe('GitHub annotations', () => {
  it('GitHub annotations escape everything that could end a property or the command', () => {
    expect(printDiagnosticsGithub([ERROR], 'my policies')).toBe(
      '::error file=my policies/rules/a b%2Cc%3Ad.yaml,line=5,endLine=5,col=11,endColumn=14,title=literal-enum' +
        '::100%25 of `x`%0D%0A::warning::never%0Ahint: did you mean `y`?\n',
    )
  })

  it('GitHub annotations are one line each, at the severity of the finding, and name files of the root as they are', () => {
    const lines = printDiagnosticsGithub([ERROR, WARNING], '').split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[1]).toBe(
      '::warning file=tools/x.yaml,line=1,endLine=1,col=1,endColumn=2,title=near-duplicate-label::almost',
    )
  })

  it('GitHub annotations are empty without findings', () =>
    expect(printDiagnosticsGithub([], 'policies')).toBe(''))
})

interface Sarif {
  readonly version: string
  readonly runs: readonly {
    readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } }
    readonly results: readonly {
      readonly ruleId: string
      readonly ruleIndex: number
      readonly level: string
    }[]
  }[]
}

describe('a SARIF log', () => {
  const log = JSON.parse(
    printDiagnosticsSarif([ERROR, WARNING], { root: 'my policies', version: '1.2.3' }),
  ) as Sarif

  it('is of version 2.1.0, with every rule that a result names, once', () => {
    const [run] = log.runs
    expect(log.version).toBe('2.1.0')
    expect(run?.tool.driver).toMatchObject({ name: 'Countersign', semanticVersion: '1.2.3' })
    const ids = run?.tool.driver.rules.map((rule) => rule.id)
    expect(ids).toEqual(['literal-enum', 'near-duplicate-label'])
    expect(run?.results.map((result) => ids?.[result.ruleIndex])).toEqual(ids)
  })

  it('has the level, the message, an encoded relative address, and a region that counts from 1', () => {
    expect(log.runs[0]?.results[0]).toEqual({
      ruleId: 'literal-enum',
      ruleIndex: 0,
      level: 'error',
      message: { text: '100% of `x`\r\n::warning::never\nhint: did you mean `y`?' },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: 'my%20policies/rules/a%20b%2Cc%3Ad.yaml', uriBaseId: '%SRCROOT%' },
            region: { startLine: 5, startColumn: 11, endLine: 5, endColumn: 14, snippet: { text: 'xyz' } },
          },
        },
      ],
    })
  })

  it('has an empty list of results without findings', () => {
    const empty = JSON.parse(printDiagnosticsSarif([], { root: '', version: '1.2.3' })) as Sarif
    expect(empty.runs[0]?.results).toEqual([])
  })

  it('carries the findings of a bundle in their order', async () => {
    const found = await diagnose(bundle(pay('  - id: a\n    alow: A.\n')))
    const { runs } = JSON.parse(printDiagnosticsSarif(found, { root: '', version: '1.2.3' })) as Sarif
    expect(runs[0]?.results.map((result) => result.ruleId)).toEqual(found.map((one) => one.code))
  })
})

describe('colour', () => {
  afterEach(() => vi.unstubAllEnvs())

  it('marks severity, place, caret and hint, and nothing else changes', () => {
    const painted = printDiagnostics([ERROR], { color: true })
    expect(painted).toContain('\u001B[31merror literal-enum:\u001B[0m')
    expect(painted).toContain('\u001B[31m^^^\u001B[0m')
    // eslint-disable-next-line no-control-regex
    expect(painted.replaceAll(/\u001B\[\d+m/g, '')).toBe(printDiagnostics([ERROR]))
  })

  it('is used only on a terminal that supports it', () => {
    expect(wantsColor({ isTTY: true, hasColors: () => true })).toBe(true)
    expect(wantsColor({ isTTY: true, hasColors: () => false })).toBe(false)
    expect(wantsColor({ isTTY: false, hasColors: () => true })).toBe(false)
    expect(wantsColor({})).toBe(false)
  })

  it('is off with NO_COLOR, by the answer of Node.js about the terminal', () => {
    const stream = Object.create(WriteStream.prototype) as WriteStream
    // Its own environment: that of a CI service has a say, too.
    const env: Record<string, string> = { TERM: 'xterm-256color' }
    const terminal = { isTTY: true, hasColors: () => stream.hasColors(16, env) }
    expect(wantsColor(terminal)).toBe(true)
    env['NO_COLOR'] = '1'
    expect(wantsColor(terminal)).toBe(false)
  })
})
