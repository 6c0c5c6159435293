import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeDirectory } from '../src/system/make-directory.ts'

let home: string

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'cs-make-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

const modeOf = (path: string): number => statSync(path).mode & 0o777

describe('making a directory', () => {
  it('makes those above it that are missing, with the same mode, and leaves what is there', () => {
    makeDirectory(join(home, 'a', 'b', 'c'), 0o700)
    makeDirectory(join(home, 'a', 'b'), 0o755)
    expect(['a', 'a/b', 'a/b/c'].map((path) => modeOf(join(home, path)))).toEqual([0o700, 0o700, 0o700])
  })

  it('refuses what is there and no directory, and what lies below it', () => {
    writeFileSync(join(home, 'file'), '')
    expect(() => makeDirectory(join(home, 'file'), 0o700)).toThrow('EEXIST')
    expect(() => makeDirectory(join(home, 'file', 'below'), 0o700)).toThrow('ENOTDIR')
  })

  it.runIf(existsSync('/proc/self'))('ends where nothing can be made and the system says ENOENT', () => {
    expect(() => makeDirectory('/proc/countersign', 0o700)).toThrow('ENOENT')
    expect(() => makeDirectory('/proc/countersign/below', 0o700)).toThrow('ENOENT')
  })
})
