import { readdirSync, readFileSync } from 'node:fs'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/*
 * The packages whose modules a bundle contains, from the bundler's list of modules. Users do not install these
 * packages, so the bundle carries their licences, and an SBOM that scanners of known vulnerabilities read.
 */

const ROOT = fileURLToPath(new URL('.', import.meta.url))
const SDK = `${ROOT}packages/sdk${sep}`
const PACKAGE = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/

/** Returns the packages of the modules, sorted by name and version. */
export function packagesOf(moduleIds) {
  const folders = new Set()
  for (const id of moduleIds) {
    const path = id.replace(/^\0/, '')
    const folder = path.startsWith(SDK) ? SDK : PACKAGE.exec(path)?.[1]
    if (folder !== undefined) folders.add(folder)
  }
  return [...folders]
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
      return { folder, name, version, license }
    })
    .sort((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1))
}

/** The text of all licences. */
export const licencesOf = (packages) => packages.map(licenceOf).join('\n\n')

function licenceOf({ folder, name, license }) {
  const file = readdirSync(folder).find((one) => /^licen[cs]e(\.\w+)?$/i.test(one))
  if (file !== undefined) return `${name}\n\n${readFileSync(`${folder}/${file}`, 'utf8').trimStart()}`
  // some packages name their licence only
  if (license === undefined) throw new Error(`${name} has no licence beside it`)
  return `${name}\n\nLicence: ${license} (https://spdx.org/licenses/${license}.html)\n`
}

/** A bill of materials as CycloneDX 1.6. Equal bundles have equal bills, so it has no time and no serial number. */
export function sbomOf(packages) {
  const { name, version, license } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
  const sbom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: componentOf('application', { name, version, license }) },
    components: packages.map((one) => componentOf('library', one)),
  }
  return `${JSON.stringify(sbom, null, 2)}\n`
}

function componentOf(type, { name, version, license }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const licenses = license === undefined ? {} : { licenses: [{ expression: license }] }
  return { type, 'bom-ref': purl, name, version, purl, ...licenses }
}
