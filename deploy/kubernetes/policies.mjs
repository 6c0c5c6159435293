/*
 * node deploy/kubernetes/policies.mjs DIRECTORY [INTO]
 *
 * Writes a policy bundle as a ConfigMap (policies.yaml), and the mount of each file (policies-volume.yaml). Keys of a
 * ConfigMap cannot contain a slash. Needs `npm ci` in this checkout, for the YAML library. Check the
 * bundle first: `countersign check`.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'

/** The API server's limit for one object, less some room for its metadata. */
const MAX_BYTES = 1024 * 1024 - 16 * 1024
const POLICY_FILE = /^(?:(?:routing|directory)\.ya?ml|countersign\.lock|(?:tools|rules)\/.*\.(?:ya?ml|json))$/

function fail(message) {
  console.error(`policies.mjs: ${message}`)
  process.exit(1)
}

const [bundle, into = import.meta.dirname] = process.argv.slice(2)
if (bundle === undefined) fail('name the directory of the bundle')
if (!statSync(bundle, { throwIfNoEntry: false })?.isDirectory()) fail(`${bundle} is not a directory`)
const paths = readdirSync(bundle, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => POLICY_FILE.test(path) && statSync(join(bundle, path)).isFile())
  .toSorted()
if (paths.length === 0) fail(`no policy files are in ${bundle}`)

const items = paths.map((path) => ({ key: path.replaceAll('/', '__'), path }))
const odd = items.find(({ key }) => !/^[-._a-zA-Z0-9]{1,253}$/.test(key))
if (odd)
  fail(`\`${odd.path}\` cannot be a key of a ConfigMap: letters, digits, dots, dashes and underscores only`)
if (new Set(items.map(({ key }) => key)).size < items.length) fail('two files would have the same key')

const data = Object.fromEntries(items.map(({ key, path }) => [key, readFileSync(join(bundle, path), 'utf8')]))
const bytes = Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
if (bytes > MAX_BYTES) fail(`the bundle has ${bytes} bytes; a ConfigMap holds ${MAX_BYTES}`)

const name = 'countersign-policies'
const write = (file, value) =>
  writeFileSync(join(into, file), `# Written by policies.mjs.\n${stringify(value, { lineWidth: 0 })}`)
write('policies.yaml', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })
write('policies-volume.yaml', {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'countersign' },
  spec: { template: { spec: { volumes: [{ name: 'policies', configMap: { name, items } }] } } },
})
