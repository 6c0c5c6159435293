import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeDirectory } from '../../src/system/make-directory.ts'

let home: string

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'cs-make-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

const modeOf = (path: string): number => statSync(path).mode & 0o777

describe('making a directory', () => {
  it('creates missing parents with the same mode, and keeps existing ones', () => {
    makeDirectory(join(home, 'a', 'b', 'c'), 0o700)
    makeDirectory(join(home, 'a', 'b'), 0o755)
    expect(['a', 'a/b', 'a/b/c'].map((path) => modeOf(join(home, path)))).toEqual([0o700, 0o700, 0o700])
  })

  it('refuses a path that is not a directory, and any path below it', () => {
    writeFileSync(join(home, 'file'), '')
    expect(() => makeDirectory(join(home, 'file'), 0o700)).toThrow('EEXIST')
    expect(() => makeDirectory(join(home, 'file', 'below'), 0o700)).toThrow('ENOTDIR')
  })

  it.runIf(existsSync('/proc/self'))('stops where the system reports ENOENT', () => {
    expect(() => makeDirectory('/proc/countersign', 0o700)).toThrow('ENOENT')
    expect(() => makeDirectory('/proc/countersign/below', 0o700)).toThrow('ENOENT')
  })
})
