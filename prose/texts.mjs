/**
 * Finds the prose of a file. Inline code, URLs and quotations become one `§`.
 *
 * - Markdown: paragraphs, list items, headings and cells.
 * - TypeScript, JavaScript and Python: comments, docstrings and strings.
 * - YAML: comments and reasons.
 * - Tests: titles and comments.
 *
 * A string is `{ kind, line, text }`. `line` is the line of its first character.
 * Line ends stay in `text`, so that an offset leads to its line.
 */
import { parseAst } from 'rolldown/parseAst'

/** Texts of one file; `path` is relative to the repository and decides how the file is read. */
export function textsOf(path, source) {
  if (path.endsWith('.md')) return markdown(source)
  if (/\.(m?js|tsx?)$/.test(path)) return typescript(path, source)
  if (path.endsWith('.py')) return python(path, source)
  if (/\.ya?ml$/.test(path)) return yaml(source)
  return []
}

/** Lines of prose that the length rule reads: all of Markdown but tables and code, all comments elsewhere. */
export function proseLines(path, source) {
  if (!path.endsWith('.md'))
    return textsOf(path, source)
      .filter(({ kind }) => kind !== 'string' && kind !== 'title')
      .flatMap(linesIn(source))
  let isCode = false
  return source.split('\n').flatMap((text, i) => {
    if (/^\s*(```|~~~)/.test(text)) isCode = !isCode
    return isCode || /^\s*\|/.test(text) || /^\s*!?\[[^\]]*\]\(\S+\)$/.test(text)
      ? []
      : [{ line: i + 1, text }]
  })
}

function linesIn(source) {
  const lines = source.split('\n')
  return ({ line, text }) =>
    text.split('\n').map((_, i) => ({ line: line + i, text: lines[line + i - 1] ?? '' }))
}

// --- Markdown

/** `isComment`: the content of a comment, in which lines indented by four are code. */
export function markdown(source, { firstLine = 1, isComment = false } = {}) {
  const found = []
  let open
  let fence = false
  let isOff = false
  const close = () => {
    if (open !== undefined && /\p{L}/u.test(open.text)) found.push(open)
    open = undefined
  }
  const start = (kind, line, text) => {
    close()
    open = { kind, line, text }
  }
  const lines = source.replace(/^---\n.*?\n---\n/s, (front) => front.replaceAll(/[^\n]/g, '')).split('\n')
  for (const [i, raw] of lines.entries()) {
    const line = firstLine + i
    if (/^\s*(```|~~~)/.test(raw)) {
      fence = !fence
      close()
      continue
    }
    if (fence) continue
    if (/<!-- prose: off -->/.test(raw)) isOff = true
    if (/<!-- prose: on -->/.test(raw)) isOff = false
    const text = raw.replace(/^\s*(> ?)+/, '')
    if (isOff || text.trim() === '' || /^\s*(<[^>]*>\s*)+$|^:::|^\s*<!--|^---+$/.test(text)) {
      close()
      continue
    }
    if (isComment && open === undefined && /^ {4,}\S/.test(text)) continue
    const heading = /^#+ (.*)$/.exec(text)
    const item = /^\s*(?:[-*+]|\d+\.) (?:\[.\] )?(.*)$/.exec(text)
    if (heading !== null) {
      start('heading', line, heading[1])
      close()
    } else if (/^\s*\|/.test(text)) {
      close()
      for (const cell of cellsOf(text)) {
        start('cell', line, cell)
        close()
      }
    } else if (item !== null) start('item', line, item[1])
    else if (open === undefined) start('paragraph', line, text)
    else open.text += `\n${text}`
  }
  close()
  return found.map((one) => ({ ...one, text: plain(one.text) }))
}

function cellsOf(row) {
  if (/^\s*\|[\s|:-]+$/.test(row)) return []
  return row
    .replaceAll(/`[^`]*`/g, (code) => code.replaceAll('|', '/'))
    .replaceAll('\\|', '/')
    .split('|')
    .slice(1, -1)
    .flatMap((cell) => cell.split('<br>'))
}

const blank = (text) => `§${text.replaceAll(/[^\n]/g, '')}`

/** Code, URLs and quotations as `§`, links as their text. Line ends stay. */
function plain(text) {
  return text
    .replaceAll(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, blank)
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\{@link (\w+)\}/g, '$1')
    .replaceAll(/https?:\/\/\S+/g, '§')
    .replaceAll(/"[^"]{1,120}"|“[^”]{1,120}”/g, blank)
    .replaceAll(/[*_]{2}/g, '')
}

// --- TypeScript and JavaScript

function typescript(path, source) {
  const lang = path.endsWith('.tsx') ? 'tsx' : path.endsWith('.ts') ? 'ts' : 'js'
  const tree = parseAst(source, { lang })
  const isTest = path.startsWith('test/')
  const masked = []
  const found = []
  walk(tree, {
    mask: (node) => masked.push([node.start, node.end]),
    string: (node, text) => {
      if (!isTest) found.push(...strings(text, lineAt(source, node.start)))
    },
    title: (node, text) => {
      if (isTest) found.push({ kind: 'title', line: lineAt(source, node.start), text: plain(text) })
    },
  })
  found.push(...comments(source, masked))
  return found.toSorted((a, b) => a.line - b.line)
}

/** The last source whose lines were counted, with the offset at which each line begins. */
const counted = { source: '', starts: [0] }

function lineAt(source, offset) {
  if (counted.source !== source) {
    counted.source = source
    counted.starts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)]
  }
  let [low, high] = [0, counted.starts.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (counted.starts[middle] <= offset) low = middle
    else high = middle
  }
  return low + 1
}

const NOT_PROSE = [
  'ImportDeclaration',
  'ExportAllDeclaration',
  'TSLiteralType',
  'ImportExpression',
  'TSEnumMember',
]

function walk(node, on, isPart = false) {
  if (node === null || typeof node !== 'object') return
  if (Array.isArray(node)) {
    for (const one of node) walk(one, on)
    return
  }
  const text = stringOf(node)
  if (['Literal', 'TemplateElement', 'JSXText'].includes(node.type) && typeof node.value !== 'number')
    on.mask(node)
  if (text !== undefined && !isPart) on.string(node, text)
  if (node.type === 'CallExpression' && ['it', 'test', 'describe'].includes(rootOf(node.callee))) {
    const title = stringOf(node.arguments[0] ?? {})
    if (title !== undefined) on.title(node.arguments[0], title)
  }
  const isJoined = text !== undefined && node.type === 'BinaryExpression'
  for (const [key, child] of Object.entries(node)) {
    if (key === 'type') continue
    const isSilent =
      NOT_PROSE.includes(node.type) || (key === 'key' && node.computed !== true) || key === 'source'
    if (child !== null && typeof child === 'object')
      walk(child, on, isSilent || (isJoined && stringOf(child) !== undefined))
  }
}

/** Text of a string, a template or a sum of them; undefined for anything else. */
function stringOf(node) {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  if (node.type === 'JSXText') return node.value
  if (node.type === 'TemplateLiteral') return node.quasis.map(({ value }) => value.cooked ?? '').join('§')
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return undefined
  const [left, right] = [stringOf(node.left), stringOf(node.right)]
  return left === undefined && right === undefined ? undefined : (left ?? '§') + (right ?? '§')
}

function rootOf(node) {
  if (node.type === 'Identifier') return node.name
  const next = node.object ?? node.callee ?? node.tag
  return next === undefined ? undefined : rootOf(next)
}

/** Strings that people read: at least three words. Scripts and style sheets inside strings are skipped. */
function strings(text, line) {
  if (/redis\.call|<\/?\w+[^>]*>|^\s*(import|export|const|select) /i.test(text)) return []
  const words = (one) => one.split(' ').filter((part) => /^["'(]?[\p{L}']+[,.:;!?)"']*$/u.test(part)).length
  return text
    .split('\n')
    .filter((one) => words(one) >= 3 && !/[{};]\s*$|=>|\b\w+\(\)/.test(one))
    .map((one) => ({ kind: 'string', line, text: plain(one) }))
}

const DIRECTIVE = /^\s*(@ts-|oxlint-|eslint-|prettier-|oxfmt-|v8 |#__|type: ignore|noqa|pragma|ruff:|mypy:)/

function comments(source, masked) {
  const inText = masked.toSorted((a, b) => a[0] - b[0])
  const found = []
  let at = 0
  let next = 0
  let last
  const opening = /\/[/*]/g
  for (;;) {
    opening.lastIndex = at
    at = opening.exec(source)?.index ?? source.length
    if (at === source.length) break
    while (next < inText.length && inText[next][1] <= at) next++
    if (next < inText.length && at >= inText[next][0]) {
      at = inText[next][1]
      continue
    }
    const two = source.slice(at, at + 2)
    if (two === '//') {
      const end = endOf(source, '\n', at)
      const line = lineAt(source, at)
      const isAlone = source.slice(source.lastIndexOf('\n', at) + 1, at).trim() === ''
      const text = source.slice(at + 2, end).replace(/^ /, '')
      if (last !== undefined && last.isAlone && isAlone && last.line + last.lines.length === line)
        last.lines.push(text)
      else {
        last = { line, lines: [text], isAlone }
        found.push(last)
      }
      at = end
    } else {
      const end = endOf(source, '*/', at + 2)
      const lines = source
        .slice(at + 2, end)
        .replace(/^\*/, '')
        .split('\n')
      found.push({
        line: lineAt(source, at),
        lines: lines.map((one) => one.replace(/^\s*\* ?/, '')),
        isDoc: source[at + 2] === '*',
      })
      last = undefined
      at = end + 2
    }
  }
  return found.flatMap(({ line, lines, isDoc }) => commentTexts(lines.join('\n'), line, isDoc === true))
}

function endOf(source, mark, from) {
  const end = source.indexOf(mark, from)
  return end < 0 ? source.length : end
}

function commentTexts(text, line, isDoc) {
  if (DIRECTIVE.test(text)) return []
  // a tag begins a separate text, and the lines after it keep their numbers
  const blocks = markdown(text.replaceAll(/^\s*@\w+/gm, '- §'), { firstLine: line, isComment: true })
  return blocks.map((one, i) => ({ ...one, kind: isDoc && i === 0 ? 'docstring' : 'comment' }))
}

// --- Python

function python(path, source) {
  const isTest = path.includes('/tests/')
  const found = []
  const pattern = /("""|''')([\s\S]*?)\1|[rbf]{0,2}("|')((?:\\.|(?!\3)[^\\\n])*)\3|#([^\n]*)/g
  let last
  for (const match of source.matchAll(pattern)) {
    const [, block, doc, quote, text, comment] = match
    const line = lineAt(source, match.index)
    if (block !== undefined) found.push(...commentTexts(doc.replaceAll(/^ {4,8}(?=\S)/gm, ''), line, true))
    else if (quote !== undefined) {
      if (!isTest) found.push(...strings(text, line))
    } else if (last !== undefined && last.line + last.lines.length === line) last.lines.push(comment.trim())
    else {
      last = { line, lines: [comment.trim()] }
      found.push(last)
    }
  }
  return found.flatMap((one) =>
    one.lines === undefined ? [one] : commentTexts(one.lines.join('\n'), one.line, false),
  )
}

// --- YAML

const REASON =
  /^\s*(?:- )?(?:allow|review|reject|description|summary|title|help|message): (?:'(.*)'|"(.*)"|([^&*|>{[].*))$/

function yaml(source) {
  const found = []
  let last
  for (const [i, text] of source.split('\n').entries()) {
    const comment = /^\s*# ?(.*)$/.exec(text)
    const reason = REASON.exec(text)
    if (comment !== null && last !== undefined && last.line + last.lines.length === i + 1)
      last.lines.push(comment[1])
    else if (comment !== null) {
      last = { line: i + 1, lines: [comment[1]] }
      found.push(last)
    } else if (reason !== null) found.push(...strings(reason[1] ?? reason[2] ?? reason[3] ?? '', i + 1))
  }
  return found.flatMap((one) =>
    one.lines === undefined ? [one] : commentTexts(one.lines.join('\n'), one.line, false),
  )
}
