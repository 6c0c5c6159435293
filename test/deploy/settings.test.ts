import { describe, expect, it } from 'vitest'
import { SETTING_ROWS } from '../../src/settings/settings.ts'
import { deploymentFiles, read, yamlDocuments } from './files.ts'

const known = new Set([
  'COUNTERSIGN_CONFIG',
  ...SETTING_ROWS.flatMap(({ variable, secret }) => [variable, ...(secret ? [`${variable}_FILE`] : [])]),
])

describe('the files of a deployment', () => {
  it('the files of a deployment name only settings that exist', () => {
    const unknown = deploymentFiles().flatMap((path) =>
      [...read(path).matchAll(/\bCOUNTERSIGN_[A-Z_]+/g)]
        .map(([name]) => name)
        .filter((name) => !known.has(name))
        .map((name) => `${path}: ${name}`),
    )
    expect(unknown).toEqual([])
  })

  it('the files of a deployment are valid YAML without duplicate keys', () => {
    const files = deploymentFiles().filter((path) => /\.ya?ml$/.test(path))
    expect(files.length).toBeGreaterThan(10)
    for (const path of files) expect(yamlDocuments(path).length, path).toBeGreaterThan(0)
  })

  it('hold no secret', () => {
    const given = deploymentFiles().flatMap((path) =>
      [...read(path).matchAll(/^.*(?:PASSWORD|ADMIN_KEY|masterauth|requirepass|auth-pass)\b.*$/gm)]
        .map(([line]) => line.trim())
        .filter((line) => /(?:PASSWORD|KEY)["']?\s*[:=]\s*["']?[^\s"'/<$]/.test(line))
        .map((line) => `${path}: ${line}`),
    )
    expect(given).toEqual([])
  })

  it('the files of a deployment name no registry: an image without a host can come from any registry that the user trusts', () => {
    const images = deploymentFiles().flatMap((path) =>
      [...read(path).matchAll(/^\s*(?:- )?(?:image:|FROM)\s+(\S+)/gm)].map((match) => match[1] ?? ''),
    )
    expect(images.length).toBeGreaterThan(5)
    expect(images.filter((image) => /^[^/]*[.:][^/]*\//.test(image))).toEqual([])
    expect(images.filter((image) => !/:v?\d+\.\d+\.\d+/.test(image))).toEqual([])
  })

  it('the files of a deployment contain no path of the machine on which they were written', () => {
    // the copies of the starter policies test paths that agents must not read
    const written = deploymentFiles().filter((path) => path !== 'deploy/kubernetes/policies.yaml')
    expect(written.filter((path) => /\/(?:work|home|root)\//.test(read(path)))).toEqual([])
  })
})
