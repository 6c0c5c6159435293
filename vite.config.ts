import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'
import { licencesOf, packagesOf, sbomOf } from './compiled-in.js'
import { portable } from './src/playground/portable.mjs'

/** The modules that are compiled into the console: the licences of their packages go with it. */
const within = new Set<string>()

/**
 * The console: one page, one style sheet, one icon, one script. The table of several calls has a second one, which
 * loads after the first list, and each other page one that loads when it opens. The evaluator of the playground is a
 * worker, and the gateway serves it with its own content security policy. Names below assets/ contain a hash of the
 * bytes, so that browsers cache them permanently (docs/decisions/0014, 0031). `npm run build` writes it to
 * dist/console.
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
    // the evaluator has 700 kB, and to compress it takes most of the time
    chunkSizeWarningLimit: 1_000,
    rolldownOptions: {
      checks: { pluginTimings: false },
      // what the first page needs is one script, also where other pages need it too
      output: { codeSplitting: { groups: [{ name: 'index', tags: ['$initial'] }] } },
    },
  },
  plugins: [noteOrigins(), licences(), compressed()],
  worker: {
    format: 'es',
    plugins: () => [portable(), noteOrigins()],
    rolldownOptions: { output: { entryFileNames: 'assets/evaluator-[hash].js' } },
  },
})

/** Notes the modules of a bundle. */
function noteOrigins(): Plugin {
  return {
    name: 'origins',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle))
        for (const id of file.type === 'chunk' ? file.moduleIds : []) within.add(id)
    },
  }
}

function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle: {
      order: 'post',
      handler() {
        const packages = packagesOf(within)
        this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source: licencesOf(packages) })
        this.emitFile({ type: 'asset', fileName: 'sbom.cdx.json', source: sbomOf(packages) })
      },
    },
  }
}

/** Writes each file in three encodings: the gateway compresses nothing while it runs. */
function compressed(): Plugin {
  // the last step, 11, takes a second more for one byte in a hundred of the evaluator
  const quality = { [constants.BROTLI_PARAM_QUALITY]: 10 }
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
