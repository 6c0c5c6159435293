/*
 * The limits of Block Kit, as Slack documents them, and the bound of a whole message that bolt-js 2509 found. A block
 * of an unknown type, or an element without its text, is refused as by Slack.
 */
type Json = Readonly<Record<string, unknown>>

const MESSAGE_CHARS = 13_000

export function problemOfMessage({
  text = '',
  blocks = '[]',
}: Readonly<Record<string, string>>): string | undefined {
  if (blocks.length > MESSAGE_CHARS) return 'msg_blocks_too_long'
  if (text.length > 40_000) return 'msg_too_long'
  if (text === '' && blocks === '[]') return 'no_text'
  return problemOfBlocks(JSON.parse(blocks) as Json[], 50)
}

export function problemOfView(view: Json): string | undefined {
  const { type, title, submit, close, blocks, private_metadata: kept = '', callback_id: id = '' } = view
  const labels = [title, submit, close].filter((one) => one !== undefined)
  const isFine =
    type === 'modal' &&
    title !== undefined &&
    labels.every((label) => isPlain(label, 24)) &&
    String(kept).length <= 3_000 &&
    String(id).length <= 255
  const hasInput = (blocks as Json[]).some((block) => block['type'] === 'input')
  if (!isFine || (hasInput && submit === undefined)) return 'invalid_arguments'
  return problemOfBlocks(blocks as Json[], 100)
}

function problemOfBlocks(blocks: readonly Json[], most: number): string | undefined {
  return blocks.length <= most && blocks.every(isBlock) ? undefined : 'invalid_blocks'
}

const isText = (text: unknown, most: number): boolean =>
  typeof text === 'string' && text.length >= 1 && text.length <= most

const isPlain = (value: unknown, most: number): boolean =>
  (value as Json | undefined)?.['type'] === 'plain_text' && isText((value as Json)['text'], most)

function isBlock(block: Json): boolean {
  const elements = block['elements'] as Json[]
  switch (block['type']) {
    case 'rich_text':
      return elements.length > 0 && elements.every(isSection)
    case 'section':
      return isPlain(block['text'], 3_000) || isText((block['text'] as Json | undefined)?.['text'], 3_000)
    case 'actions':
      return elements.length > 0 && elements.length <= 25 && elements.every(isButton)
    case 'input':
      return isPlain(block['label'], 2_000) && isInput(block['element'] as Json)
    default:
      return false
  }
}

const isSection = ({ type, elements }: Json): boolean =>
  type === 'rich_text_section' &&
  (elements as Json[]).every(
    (one) =>
      (one['type'] === 'text' && isText(one['text'], 3_000)) ||
      (one['type'] === 'link' && isText(one['url'], 3_000)),
  )

const isButton = ({ type, text, value = 'x', url = 'x', action_id: id }: Json): boolean =>
  type === 'button' && isPlain(text, 75) && isText(value, 2_000) && isText(url, 3_000) && isText(id, 255)

function isInput({ type, max_length: most = 1, options }: Json): boolean {
  if (type === 'plain_text_input') return Number(most) >= 1 && Number(most) <= 3_000
  const all = options as Json[]
  return (
    type === 'radio_buttons' &&
    all.length >= 1 &&
    all.length <= 10 &&
    all.every(({ text, value }) => isPlain(text, 75) && isText(value, 150))
  )
}
