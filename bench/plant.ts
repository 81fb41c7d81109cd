/** The plant that is created again and again, each time with another id. */
export const plant = { name: "Basil", tag: "herb" } as const;

/** The answer to it over REST. */
export const plantJson: Buffer = Buffer.from(JSON.stringify(plant));
