import { describe, expect, it } from 'vitest'
import { stages } from './dockerfile.ts'
import { read } from './files.ts'
import { execFileSync } from '../sync-child.ts'

const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
const flagsIn = (text = ''): string[] => text.match(/--[a-z0-9-]+-size=\d+/g) ?? []
const operations = read('docs/operations.md')
const documented = flagsIn(/^node .* serve$/m.exec(operations)?.[0])

describe('the flags of Node.js', () => {
  it('the flags of Node.js are the same wherever a gateway starts, and in the benchmarks', () => {
    expect(documented).not.toEqual([])
    const [, runtime] = stages()
    expect(flagsIn(runtime?.json('ENTRYPOINT').join(' '))).toEqual(documented)
    expect(flagsIn(scripts['start'])).toEqual(documented)
    expect(flagsIn(/^ExecStart=.*$/m.exec(read('deploy/systemd/countersign.service'))?.[0])).toEqual(
      documented,
    )
    expect(flagsIn(/^const AS_DEPLOYED = .*$/m.exec(read('bench/gateway.mjs'))?.[0])).toEqual(documented)
  })

  it('the flags of Node.js are accepted by Node.js, on its command line and in NODE_OPTIONS', () => {
    const says = (flags: readonly string[], env: Record<string, string>): string =>
      execFileSync(process.execPath, [...flags, '-p', '"started"'], { env }).trim()
    expect(says(documented, {})).toBe('started')
    const options = /`NODE_OPTIONS=(\S+)`/.exec(operations)?.[1] ?? ''
    expect(documented).toContain(options)
    expect(says([], { NODE_OPTIONS: options })).toBe('started')
  })
})
