import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { build } from 'rolldown'

/* Of these the bundle reads the modules, of which it takes what is used: an eighth of what their CommonJS would bring. */
const asModules = ['core', 'exporter-trace-otlp-http', 'otlp-transformer', 'resources', 'sdk-trace'].map(
  (name) => `@opentelemetry/${name}`,
)
const otherModules = ['@opentelemetry/otlp-exporter-base', '@opentelemetry/semantic-conventions']
const moduleOf = (name) => resolve('node_modules', name, 'build/esm/index.js')

/**
 * Bundles the program into a few files instead of eight hundred: most of the time until a gateway is ready went into finding and reading modules
 * (docs/decisions/0008). Not minified, so that a stack trace can be read. dist/ beside it stays as it is compiled, for the tests.
 */
export async function bundleProgram() {
  await build({
    input: {
      main: 'dist/main.js',
      'bundle-child': 'dist/policy/bundle/bundle-child.js',
      'delivery-thread': 'dist/outbound/delivery-thread.js',
      // what a call that `countersign dev` prints imports where no SDK is installed
      sdk: 'packages/sdk/dist/index.js',
    },
    platform: 'node',
    external: ['lmdb', 'pino'], // they look for files of their own beside them
    resolve: { alias: Object.fromEntries(asModules.map((name) => [name, moduleOf(name)])) },
    output: { dir: 'dist/bin', format: 'esm', entryFileNames: '[name].js', cleanDir: true },
  })
  chmodSync('dist/bin/main.js', 0o755)
  writeLicences()
}

/* Packages that are in the program and are not installed beside it: their licences go where they go (docs/decisions/0013). */
const within = {
  '@countersign/sdk': 'LICENSE',
  'openid-client': 'LICENSE.md',
  oauth4webapi: 'LICENSE.md',
  jose: 'LICENSE.md',
  limiter: 'LICENSE.txt',
  ...Object.fromEntries([...asModules, ...otherModules].map((name) => [name, 'LICENSE'])),
}
function writeLicences() {
  const texts = Object.entries(within).map(
    ([name, file]) => `${name}\n\n${readFileSync(`node_modules/${name}/${file}`, 'utf8').trimStart()}`,
  )
  writeFileSync('dist/bin/LICENSES.txt', texts.join('\n\n'))
}
