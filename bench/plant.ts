/** The plant that is created repeatedly, each time with another id. */
export const plant = { name: "Basil", tag: "herb" } as const;

/** Its REST answer. */
export const plantJson: Buffer = Buffer.from(JSON.stringify(plant));
