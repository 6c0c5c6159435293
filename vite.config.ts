import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

/** Packages that are compiled into the console: their licences go with it. */
const WITHIN = ['preact', '@preact/signals', '@preact/signals-core']

/**
 * The console: one page, one script, one style sheet, one icon. Names below assets/ carry a hash of the bytes, so that browsers keep them for good
 * (docs/decisions/0014). `npm run build` writes it to dist/console.
 */
export default defineConfig({
  root: fileURLToPath(new URL('src/console', import.meta.url)),
  base: './',
  logLevel: 'warn',
  build: {
    outDir: fileURLToPath(new URL('dist/console', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    // the page's policy takes no data: addresses and no inline script
    assetsInlineLimit: 0,
    modulePreload: false,
  },
  plugins: [licences(), compressed()],
})

function licences(): Plugin {
  const text = (name: string): string =>
    `${name}\n\n${readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), 'utf8')}`
  return {
    name: 'licences',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source: WITHIN.map(text).join('\n\n') })
    },
  }
}

/** Writes each file in three encodings: the gateway compresses nothing while it runs. */
function compressed(): Plugin {
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  return {
    name: 'compressed',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        for (const file of Object.values(bundle)) {
          const bytes = Buffer.from(file.type === 'chunk' ? file.code : file.source)
          const gzip = gzipSync(bytes, { level: 9, memLevel: 6 })
          this.emitFile({ type: 'asset', fileName: `${file.fileName}.gz`, source: gzip })
          const brotli = brotliCompressSync(bytes, { params: quality })
          this.emitFile({ type: 'asset', fileName: `${file.fileName}.br`, source: brotli })
        }
      },
    },
  }
}
