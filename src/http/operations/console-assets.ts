import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { PACKAGE_ROOT } from '../../system/package.ts'
import { rightPlace, type Site } from '../core/same-origin.ts'

/** The directory that `npm run build` writes. */
export const BUILT_CONSOLE = new URL('dist/console/', PACKAGE_ROOT)
const PAGE = 'index.html'
/** The answer when the console is missing. It is text, not a problem document, because people read it in a browser. */
const NOT_BUILT =
  'The console was not built. Run `npm run build` and start the gateway again; until then, use `countersign review`.\n'

/**
 * Headers of the console, which shows text from agents. Even if the page treated such text as markup, the browser would
 * not run, load or send anything (docs/decisions/0014).
 */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob:",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    // the playground uses this policy only for the address of its evaluator, not for markup
    'trusted-types evaluator',
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

/** The evaluator of the playground, which is a worker. */
const EVALUATOR = /^evaluator-[\w-]+\.js$/
/**
 * A worker has its own content security policy, which is sent with its file. The evaluator compiles contracts, and has
 * no access to a page, cookies or the network (docs/decisions/0031).
 */
const EVALUATOR_POLICY = "default-src 'none'; script-src 'unsafe-eval'"

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The caching of files whose names contain the hash of their bytes. */
const FOR_GOOD = 'public, max-age=31536000, immutable'
const ASK_EVERY_TIME = 'no-cache'

interface ConsoleFile {
  readonly type: string
  readonly etag: string
  readonly cacheControl: string
  readonly plain: Buffer
  readonly gzip: Buffer
  readonly brotli: Buffer
}

interface ConsoleParts {
  readonly built: URL
  readonly site: () => Site
}

/**
 * Serves the reviewer console from files that the gateway reads once, at the start. Without a built console, the
 * gateway still decides calls and takes votes.
 */
export function consoleRoutes(app: FastifyInstance, { built, site }: ConsoleParts): void {
  const files = readBuilt(built)
  app.addHook('onRequest', (_, reply, done) => {
    reply.headers(HEADERS)
    done()
  })
  const toConsole = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    reply.redirect(`${rightPlace(site(), request.headers.host) ?? ''}/console/`, 303)
  app.get('/', toConsole)
  app.get('/console', toConsole)
  app.get('/console/', (request, reply) => {
    if (rightPlace(site(), request.headers.host) !== undefined) return toConsole(request, reply)
    const page = files.get(PAGE)
    return page === undefined
      ? reply.code(503).type('text/plain; charset=utf-8').send(NOT_BUILT)
      : send(request, reply, page)
  })
  app.get<{ Params: { name: string } }>('/console/assets/:name', (request, reply) => {
    const asset = files.get(`assets/${request.params.name}`)
    if (asset === undefined) throw new GatewayError('not_found', 'no such file')
    if (EVALUATOR.test(request.params.name)) reply.header('content-security-policy', EVALUATOR_POLICY)
    return send(request, reply, asset)
  })
}

/** Reads the built files. Returns an empty map when the console is not built. */
function readBuilt(built: URL): ReadonlyMap<string, ConsoleFile> {
  const names = namesOf(built).filter((name) => extname(name) in TYPES)
  return new Map(names.map((name) => [name, readFile(built, name)]))
}

function namesOf(built: URL): string[] {
  try {
    return readdirSync(built, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'))
  } catch {
    return []
  }
}

function readFile(built: URL, name: string): ConsoleFile {
  const [plain, gzip, brotli] = ['', '.gz', '.br'].map((suffix) =>
    readFileSync(new URL(name + suffix, built)),
  ) as [Buffer, Buffer, Buffer]
  return {
    type: TYPES[extname(name)] as string,
    etag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
    cacheControl: name === PAGE ? ASK_EVERY_TIME : FOR_GOOD,
    plain,
    gzip,
    brotli,
  }
}

/** Sends a file. The ETag differs for each encoding, because the bytes differ (RFC 9110 section 8.8.3.3). */
function send(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile): FastifyReply {
  const coding = codingOf(request.headers['accept-encoding'])
  const etag = `"${file.etag}${coding === undefined ? '' : `-${coding}`}"`
  reply.headers({ 'cache-control': file.cacheControl, vary: 'accept-encoding', etag })
  if (namesTag(request.headers['if-none-match'], etag)) return reply.code(304).send()
  if (coding !== undefined) reply.header('content-encoding', coding)
  return reply.type(file.type).send(bytesOf(file, coding))
}

type Coding = 'br' | 'gzip'

function bytesOf(file: ConsoleFile, coding: Coding | undefined): Buffer {
  if (coding === undefined) return file.plain
  return coding === 'br' ? file.brotli : file.gzip
}

/** The smallest accepted encoding (RFC 9110 section 12.5.3). Weight 0 refuses an encoding. */
function codingOf(accepted: string | string[] | undefined): Coding | undefined {
  const wanted = String(accepted ?? '')
    .toLowerCase()
    .split(',')
    .map((one) => one.trim())
    .filter((one) => !/;\s*q=0(?:\.0*)?$/.test(one))
    .map((one) => one.replace(/\s*;.*$/, ''))
  return (['br', 'gzip'] as const).find((coding) => wanted.includes(coding))
}

/** True when the header contains the tag (RFC 9110 section 13.1.2), weak or strong, in a list, or as `*`. */
function namesTag(header: string | undefined, etag: string): boolean {
  const tags = (header ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
