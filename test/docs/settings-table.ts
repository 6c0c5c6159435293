import { SETTING_ROWS, type SettingRow } from '../../src/settings/settings.ts'

const ROW = /^\| `(COUNTERSIGN_\w+)` \| `--/

/**
 * Returns docs/reference/settings.md without rows of unknown settings. Adds each missing row after its neighbour, with
 * the help of the setting as its meaning.
 */
export function withSettingsTable(page: string): string {
  const variables = new Set(SETTING_ROWS.map(({ variable }) => variable))
  const lines = page.split('\n').filter((line) => {
    const variable = ROW.exec(line)?.[1]
    return variable === undefined || variables.has(variable)
  })
  let place = lines.findIndex((line) => ROW.test(line)) - 1
  for (const setting of SETTING_ROWS) {
    const found = lines.findIndex((line) => line.startsWith(startOf(setting)))
    place = found === -1 ? place + 1 : found
    if (found === -1) lines.splice(place, 0, rowOf(setting))
  }
  return lines.join('\n')
}

const startOf = ({ variable, flag }: SettingRow): string => `| \`${variable}\` | \`--${flag}\` |`

function rowOf(setting: SettingRow): string {
  const { default: text, help } = setting
  return `${startOf(setting)} ${text === undefined ? '' : `\`${text}\` `}| ${help} |`
}
