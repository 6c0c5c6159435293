import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SETTING_ROWS } from '../../src/settings/settings.ts'
import { unknownVariables } from '../../src/settings/unknown-variables.ts'
import { runCli } from '../cli/run.ts'
import { startGateway } from '../fault/gateway.ts'

const directory = mkdtempSync(join(tmpdir(), 'cs-strangers-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const refusal = (variable: string): string => {
  try {
    unknownVariables({ [variable]: 'x' })
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

describe('a variable that begins with COUNTERSIGN_ and is not a setting', () => {
  it.each([
    ['COUNTERSIGN_STOER', 'COUNTERSIGN_STORE'],
    ['COUNTERSIGN_PORTS', 'COUNTERSIGN_PORT'],
    ['COUNTERSIGN_OIDC_GROUP_CLAIM', 'COUNTERSIGN_OIDC_GROUPS_CLAIM'],
    ['COUNTERSIGN_SESION_IDLE', 'COUNTERSIGN_SESSION_IDLE'],
    ['COUNTERSIGN_SIGNING_KEY_FIEL', 'COUNTERSIGN_SIGNING_KEY_FILE'],
    ['COUNTERSIGN_CONFG', 'COUNTERSIGN_CONFIG'],
  ])('stops the start when it is a likely typo: %s', (written, meant) => {
    expect(refusal(written)).toBe(`\`${written}\` is not a setting; did you mean \`${meant}\`?`)
  })

  it('stops the start when it names a file for a setting that is not secret', () => {
    for (const { variable, secret } of SETTING_ROWS) {
      expect(unknownVariables({ [variable]: 'x' })).toEqual([])
      expect(refusal(`${variable}_FILE`)).toBe(
        secret === true ? '' : `\`${variable}_FILE\`: only secrets may be in a file; use \`${variable}\``,
      )
    }
  })

  it('is only reported when it resembles no setting: it may belong to another program or version', () => {
    const env = { COUNTERSIGN_VERSION: '1', COUNTERSIGN_IMAGE: 'x', PATH: 'x', OTHER_STOER: 'x' }
    expect(unknownVariables(env)).toEqual(['COUNTERSIGN_IMAGE', 'COUNTERSIGN_VERSION'])
  })

  it('is ignored when it is empty, belongs to commands or clients, or names a Kubernetes service', () => {
    const env = {
      COUNTERSIGN_STOER: '',
      COUNTERSIGN_URL: 'http://127.0.0.1:8787',
      COUNTERSIGN_AGENT_KEY: 'k',
      COUNTERSIGN_REVIEWER_KEY: 'k',
      COUNTERSIGN_CONFIG: 'countersign.yaml',
      COUNTERSIGN_TEST_REDIS: 'valkey-server',
      COUNTERSIGN_SERVICE_HOST: '10.0.0.1',
      COUNTERSIGN_SERVICE_PORT: '8787',
      COUNTERSIGN_SERVICE_PORT_HTTP: '8787',
      COUNTERSIGN_PORT_8787_TCP: 'tcp://10.0.0.1:8787',
      COUNTERSIGN_PORT_8787_TCP_ADDR: '10.0.0.1',
      COUNTERSIGN_REDIS_PORT: 'tcp://10.0.0.2:6379',
    }
    expect(unknownVariables(env)).toEqual([])
    expect(unknownVariables({ COUNTERSIGN_REDIS_PORT: '6379' })).toEqual(['COUNTERSIGN_REDIS_PORT'])
  })

  it('stops the start with exit code 2 when it is a likely typo', async () => {
    const env = { COUNTERSIGN_STOER: 'redis://127.0.0.1' }
    for (const command of ['serve', 'dev', 'config']) {
      const { code, err } = await runCli([command], { cwd: directory, env })
      expect([code, err]).toEqual([2, expect.stringContaining('did you mean `COUNTERSIGN_STORE`?')])
    }
  })

  it('is logged when it resembles no setting', async () => {
    const gateway = await startGateway({ directory, through: ['env', 'COUNTERSIGN_VERSION=7'] })
    gateway.hangUp()
    const { lines } = await gateway.process.kill('SIGTERM')
    expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ level: 'warn', variable: 'COUNTERSIGN_VERSION' }),
    )
  })
})
