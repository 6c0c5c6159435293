import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ERRORS, GatewayError, problemOf } from '../../src/contract/errors.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const docs = readFileSync(join(root, 'docs/errors.md'), 'utf8')
const sections = docs.split(/^## /m).slice(1)

describe('the error table and docs/errors.md', () => {
  it('the error table and docs/errors.md list the same codes with the same statuses, in the same order', () => {
    const table = Object.entries(ERRORS).map(([code, { status }]) => `${status} ${code}`)
    expect(sections.map((section) => section.split('\n')[0])).toEqual(table)
  })

  it('the error table and docs/errors.md have text in every section', () => {
    for (const section of sections)
      expect(section.split('\n').slice(1).join(' ').trim().length).toBeGreaterThan(40)
  })

  it('the error table and docs/errors.md list statuses in rising order, and every title once', () => {
    const statuses = Object.values(ERRORS).map(({ status }) => status)
    expect(statuses).toEqual(statuses.toSorted((a, b) => a - b))
    expect(new Set(Object.values(ERRORS).map(({ title }) => title)).size).toBe(statuses.length)
  })
})

describe('a refusal', () => {
  it('turns into a problem document with its public words only', () => {
    const error = new GatewayError('not_pending', 'words', { cause: new Error('private'), retryAfter: 3 })
    expect(problemOf(error)).toEqual({
      type: 'urn:countersign:error:not_pending',
      title: ERRORS.not_pending.title,
      status: 409,
      code: 'not_pending',
      detail: 'words',
    })
    expect(JSON.stringify(problemOf(error))).not.toContain('private')
  })

  it('lists the places in a body', () => {
    const errors = [{ pointer: '/a', message: 'is required' }]
    expect(problemOf(new GatewayError('invalid_request', 'x', { errors })).errors).toEqual(errors)
  })
})

describe('codes in use', () => {
  it('is raised somewhere in src, for every code', () => {
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter(
        (path) =>
          path.endsWith('.ts') && !path.endsWith('contract/errors.ts') && !path.startsWith('contract'),
      )
      .map((path) => readFileSync(join(root, 'src', path), 'utf8'))
      .join('\n')
    const unused = Object.keys(ERRORS).filter((code) => !sources.includes(`'${code}'`))
    expect(unused).toEqual([])
  })
})
